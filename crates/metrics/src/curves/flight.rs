//! One request on its way through time: when it changes something, and what it changes.

use crate::curves::changes::Changes;
use crate::curves::timing::Timing;

/// A sum of rates. What each addition loses is kept beside it: content that follows another within nanoseconds gives a rate
/// beside which all others would vanish.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rate {
    sum: f64,
    lost: f64,
}

impl Rate {
    #[inline]
    pub(crate) fn add(&mut self, height: f64) {
        let next = self.sum + height;
        let added = next - self.sum;
        self.lost += (self.sum - (next - added)) + (height - added);
        self.sum = next;
    }

    /// Takes one height away and adds another.
    #[inline]
    pub(crate) fn pass(&mut self, content: &Content) {
        self.add(content.decode);
        self.lost += content.decode_lost;
    }

    #[inline]
    pub(crate) fn value(self) -> f64 {
        self.sum + self.lost
    }

    /// What nobody is left for is nothing.
    fn add_for(&mut self, height: f64, users: i64) {
        self.add(height);
        if users == 0 {
            *self = Self::default();
        }
    }
}

/// What is going on at an instant. Rates are per second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lanes {
    /// Requests in flight.
    pub(crate) in_flight: i64,
    /// Requests that will answer and have not begun to.
    pub(crate) prefilling: i64,
    /// Requests that have begun to answer.
    pub(crate) decoding: i64,
    /// Tokens read.
    pub(crate) prefill: Rate,
    /// Tokens produced.
    pub(crate) decode: Rate,
    /// Tokens read or produced.
    pub(crate) total: Rate,
    /// Tokens of requests in flight.
    pub(crate) tokens: f64,
}

impl Lanes {
    pub(crate) fn pass(&mut self, content: &Content) {
        self.decode.pass(content);
        self.tokens += content.tokens;
    }

    pub(crate) fn turn(&mut self, turn: &Turn) {
        self.in_flight += i64::from(turn.in_flight);
        self.prefilling += i64::from(turn.prefilling);
        self.decoding += i64::from(turn.decoding);
        self.prefill.add_for(turn.prefill, self.prefilling);
        self.decode.add_for(turn.decode, self.decoding);
        self.total.add(turn.prefill);
        self.total.add_for(turn.even, self.in_flight);
        self.tokens = if self.in_flight == 0 { 0.0 } else { self.tokens + turn.tokens };
    }
}

impl Turn {
    /// Whether a request ends with it.
    pub(crate) fn is_end(&self) -> bool {
        self.in_flight < 0
    }
}

/// A change that content after the first makes: most changes are such.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    decode: f64,
    /// What that lacks.
    decode_lost: f64,
    pub(crate) tokens: f64,
}

impl Content {
    /// From one rate to another.
    #[inline]
    fn new(before: f64, after: f64, tokens: f64) -> Self {
        let decode = after - before;
        let less = decode - after;
        let decode_lost = (after - (decode - less)) - (before + less);
        Self { decode, decode_lost, tokens }
    }
}

/// A change that the start, the first content or the end of a request makes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    in_flight: i8,
    prefilling: i8,
    decoding: i8,
    prefill: f64,
    decode: f64,
    /// Tokens produced, if they are evenly.
    even: f64,
    tokens: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Start,
    FirstContent,
    /// The content that ends this gap.
    Content(usize),
    /// The content that ends this gap and all after it, which come with the end.
    ContentWithEnd(usize),
    End,
    Nothing,
}

const PER_SECOND: f64 = 1e9;

/// How tokens are taken to be produced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Gap by gap, as content came.
    Gaps,
    /// Evenly from first content to end: the run has no gaps.
    Even,
}

/// A request in time.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    at: u64,
    next: Next,
    /// What it adds to the tokens being produced.
    rate: f64,
    /// Tokens that content after the first brings.
    arrival: f64,
    /// Tokens produced in each gap that takes any time, by nanoseconds to the second.
    share: f64,
    gaps: ShortGaps,
    timing: Timing,
}

/// Gaps of a request, in half the memory: hardly any takes longer than four seconds.
#[derive(Clone, Debug, Default)]
struct ShortGaps {
    short: Vec<u32>,
    /// Those that do, with their places.
    long: Vec<(usize, u64)>,
}

impl ShortGaps {
    fn fill(&mut self, gaps: &[u64]) {
        self.short.clear();
        self.long.clear();
        self.short.extend(gaps.iter().map(|&gap| u32::try_from(gap).unwrap_or(u32::MAX)));
        if self.short.contains(&u32::MAX) {
            self.long.extend(gaps.iter().copied().enumerate().filter(|(_, gap)| *gap >= u64::from(u32::MAX)));
        }
    }

    #[inline]
    fn get(&self, at: usize) -> Option<u64> {
        match *self.short.get(at)? {
            u32::MAX => self.long.iter().find(|(place, _)| *place == at).map(|(_, gap)| *gap),
            gap => Some(u64::from(gap)),
        }
    }
}

impl Flight {
    pub(crate) fn new(timing: Timing, gaps: &[u64]) -> Self {
        let (at, next, rate) = (timing.start, Next::Start, 0.0);
        let mut flight = Self { at, next, rate, arrival: 0.0, share: 0.0, gaps: ShortGaps::default(), timing };
        flight.restart(timing, gaps);
        flight
    }

    /// Becomes another request in the same memory.
    pub(crate) fn restart(&mut self, timing: Timing, gaps: &[u64]) {
        self.gaps.fill(gaps);
        let arrival = timing.arrival_share(gaps).unwrap_or(0.0);
        let share = timing.decode_share(gaps).unwrap_or(0.0) * PER_SECOND;
        let (at, next, rate, gaps) = (timing.start, Next::Start, 0.0, std::mem::take(&mut self.gaps));
        *self = Self { at, next, rate, arrival, share, gaps, timing };
    }

    /// How many gaps it has.
    pub(crate) fn gap_count(&self) -> usize {
        self.gaps.short.len()
    }

    /// Its gaps.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = u64> {
        (0..self.gap_count()).map_while(|at| self.gaps.get(at))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.next == Next::Nothing
    }

    /// Makes all changes that come before `limit`.
    pub(crate) fn go_on(&mut self, limit: u64, pace: Pace, changes: &mut Changes) {
        while self.at < limit {
            let turn = match self.next {
                Next::Start => self.begin(),
                Next::FirstContent => self.answer(pace),
                Next::End => self.end(),
                Next::Content(gap) => {
                    self.stream(gap, limit, changes);
                    continue;
                }
                Next::ContentWithEnd(gap) => {
                    let contents = self.gap_count() - gap;
                    changes.content(self.at, Content::new(self.rate, self.rate, self.arrival * contents as f64));
                    (self.at, self.next) = (self.timing.end, Next::End);
                    continue;
                }
                Next::Nothing => return,
            };
            changes.turn(self.at, turn);
            self.turn_over();
        }
    }

    /// Passes contents, from the one that ends a gap on.
    #[inline]
    fn stream(&mut self, mut gap: usize, limit: u64, changes: &mut Changes) {
        let (tokens, share) = (self.arrival, self.share);
        while self.at < limit {
            let next = self.gaps.get(gap + 1);
            let pace = pace_of(next, share, self.rate);
            changes.content(self.at, Content::new(self.rate, pace, tokens));
            self.rate = pace;
            gap += 1;
            (self.at, self.next) = match next {
                Some(length) => self.content(self.at + length, gap),
                None => (self.timing.end, Next::End),
            };
            if self.next != Next::Content(gap) {
                return;
            }
        }
    }

    /// The content that ends a gap. Content that comes with the end has been there before it: its tokens are in flight for the
    /// last nanosecond, and the pace of its gap lasts until the end.
    #[inline]
    fn content(&self, at: u64, gap: usize) -> (u64, Next) {
        let end = self.timing.end;
        if at < end { (at, Next::Content(gap)) } else { (end - 1, Next::ContentWithEnd(gap)) }
    }

    /// Whether its output is taken to come content by content.
    fn streams(&self) -> bool {
        self.timing.generation.is_some_and(|first| self.timing.end > first)
            && self.timing.output.is_some_and(|output| output >= 1)
            && self.gap_count() > 0
    }

    fn turn_over(&mut self) {
        let end = self.timing.end;
        (self.at, self.next) = match (self.next, self.timing.generation) {
            (Next::Start, Some(first)) => (first, Next::FirstContent),
            (Next::FirstContent, Some(first)) if self.streams() => {
                self.content(first + self.gaps.get(0).unwrap_or(0), 0)
            }
            (Next::Start | Next::FirstContent, _) => (end, Next::End),
            _ => (end, Next::Nothing),
        };
    }

    fn begin(&self) -> Turn {
        let answers = i8::from(self.timing.generation.is_some());
        let rate = self.timing.prefill().unwrap_or(0.0) * PER_SECOND;
        let tokens = self.timing.prompt().unwrap_or(0) as f64;
        Turn { in_flight: 1, prefilling: answers, prefill: rate, tokens, ..Turn::default() }
    }

    fn answer(&mut self, pace: Pace) -> Turn {
        let prefill = self.timing.prefill().unwrap_or(0.0) * PER_SECOND;
        let even = self.timing.decode().unwrap_or(0.0) * PER_SECOND;
        self.rate = match pace {
            Pace::Even => even,
            Pace::Gaps if self.streams() => pace_of(self.gaps.get(0), self.share, 0.0),
            Pace::Gaps => 0.0,
        };
        let tokens = if self.streams() { 1.0 } else { self.timing.produced().unwrap_or(0) as f64 };
        Turn { in_flight: 0, prefilling: -1, decoding: 1, prefill: -prefill, decode: self.rate, even, tokens }
    }

    fn end(&self) -> Turn {
        if self.timing.generation.is_none() {
            return Turn { in_flight: -1, ..Turn::default() };
        }
        let held = self.timing.prompt().unwrap_or(0) + self.timing.produced().unwrap_or(0);
        Turn {
            in_flight: -1,
            decoding: -1,
            decode: -self.rate,
            even: -self.timing.decode().unwrap_or(0.0) * PER_SECOND,
            tokens: -(held as f64),
            ..Turn::default()
        }
    }
}

/// How fast tokens are produced in a gap. In one that takes no time the next content comes at once.
#[inline]
fn pace_of(gap: Option<u64>, share: f64, before: f64) -> f64 {
    match gap {
        None => 0.0,
        Some(0) => before,
        Some(length) => share / length as i64 as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(gaps: &[u64]) -> Flight {
        let timing = Timing { start: 100, end: 1000, generation: Some(300), input: Some(7), output: Some(5) };
        Flight::new(timing, gaps)
    }

    /// Instants, with requests and tokens in flight after each.
    fn seen(flight: &mut Flight, limits: &[u64], pace: Pace) -> Vec<(u64, i64, f64)> {
        let (mut seen, mut lanes, mut changes) = (Vec::new(), Lanes::default(), Changes::default());
        for &limit in limits {
            changes.restart(0, limit);
            flight.go_on(limit, pace, &mut changes);
            changes.sort();
            for (contents, turn) in changes.runs() {
                for (at, content) in contents.iter() {
                    lanes.pass(content);
                    seen.push((at, lanes.in_flight, lanes.tokens));
                }
                if let Some((at, turn)) = turn {
                    lanes.turn(turn);
                    seen.push((at, lanes.in_flight, lanes.tokens));
                }
            }
            assert!(seen.iter().all(|(at, ..)| *at < limit));
        }
        assert!(flight.is_over());
        assert_eq!((lanes.in_flight, lanes.prefilling, lanes.decoding), (0, 0, 0));
        assert_eq!([lanes.prefill, lanes.decode, lanes.total], [Rate::default(); 3]);
        assert_eq!(lanes.tokens, 0.0);
        seen
    }

    #[test]
    fn every_change_comes_at_its_instant() {
        let last = (1000, 0, 0.0);
        for pace in [Pace::Gaps, Pace::Even] {
            let contents = seen(&mut flight(&[100, 0, 200]), &[5000], pace);
            let third = 4.0 / 3.0;
            assert_eq!(contents[..3], [(100, 1, 7.0), (300, 1, 8.0), (400, 1, 8.0 + third)]);
            assert_eq!((contents[3].0, contents[4].0, contents[5]), (400, 600, last));
            assert_eq!(seen(&mut flight(&[]), &[5000], pace), [(100, 1, 7.0), (300, 1, 12.0), last]);
            let long = 1 << 40;
            let mut slow = flight(&[100, long, 200]);
            slow.timing.end = 2 * long;
            let slow: Vec<u64> = slow.gaps().chain([slow.gap_count() as u64]).collect();
            assert_eq!(slow, [100, long, 200, 3]);
            let beyond: Vec<u64> = seen(&mut flight(&[900, 900]), &[5000], pace).iter().map(|seen| seen.0).collect();
            assert_eq!(beyond, [100, 300, 999, 1000]);
        }
    }

    #[test]
    fn a_request_begins_before_its_content_comes_and_ends_after_it() {
        // The first gap takes no time, and the last content comes with the end.
        let at_once = seen(&mut flight(&[0, 700]), &[5000], Pace::Gaps);
        assert_eq!(at_once, [(100, 1, 7.0), (300, 1, 8.0), (300, 1, 10.0), (999, 1, 12.0), (1000, 0, 0.0)]);
    }

    #[test]
    fn no_rate_is_lost_beside_another() {
        let (mut rate, rates) = (Rate::default(), [0.0, 1e12, 0.1, 3.3e10, 1e-3, 0.0]);
        for pair in rates.windows(2) {
            rate.pass(&Content::new(pair[0], pair[1], 0.0));
            assert!((rate.value() - pair[1]).abs() <= pair[1] * 1e-15);
        }
    }

    #[test]
    fn changes_go_on_where_they_left_off() {
        let whole = seen(&mut flight(&[100, 0, 200]), &[5000], Pace::Gaps);
        assert_eq!(seen(&mut flight(&[100, 0, 200]), &[150, 350, 401, 402, 5000], Pace::Gaps), whole);
    }
}
