//! One request during a sweep: when it changes something, and what.

use crate::curves::change::{Content, Transition};
use crate::curves::changes::Changes;
use crate::curves::timing::Timing;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Start,
    FirstContent,
    /// The content that ends this gap.
    Content(usize),
    /// The content that ends this gap and all later ones, which arrive with the end.
    ContentWithEnd(usize),
    End,
    Nothing,
}

const PER_SECOND: f64 = 1e9;

/// The assumed pace of token production.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// By gaps, as content arrived.
    Gaps,
    /// Even from first content to end: no request of the run has gaps.
    Even,
}

#[derive(Clone, Debug)]
pub(crate) struct SweptRequest {
    at: u64,
    next: Next,
    /// Its part of the rate of produced tokens.
    rate: f64,
    /// Tokens that each content after the first adds.
    arrival: f64,
    /// Tokens produced in each gap longer than zero, times the nanoseconds in a second.
    share: f64,
    gaps: ShortGaps,
    timing: Timing,
}

/// The gaps of a request, in half the memory: few are longer than four seconds.
#[derive(Clone, Debug, Default)]
struct ShortGaps {
    short: Vec<u32>,
    /// The longer ones, with their positions.
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

impl SweptRequest {
    /// Bytes of a request without its gaps, with the overhead of an allocator for its two blocks.
    pub(crate) const SIZE: usize = size_of::<Self>() + 48;

    pub(crate) fn new(timing: Timing, gaps: &[u64]) -> Self {
        let (at, next, rate) = (timing.start, Next::Start, 0.0);
        let mut request = Self { at, next, rate, arrival: 0.0, share: 0.0, gaps: ShortGaps::default(), timing };
        request.restart(timing, gaps);
        request
    }

    /// Reuses the memory for another request.
    pub(crate) fn restart(&mut self, timing: Timing, gaps: &[u64]) {
        self.gaps.fill(gaps);
        let arrival = timing.arrival_share(gaps).unwrap_or(0.0);
        let share = timing.decode_share(gaps).unwrap_or(0.0) * PER_SECOND;
        let (at, next, rate, gaps) = (timing.start, Next::Start, 0.0, std::mem::take(&mut self.gaps));
        *self = Self { at, next, rate, arrival, share, gaps, timing };
    }

    pub(crate) fn gap_count(&self) -> usize {
        self.gaps.short.len()
    }

    pub(crate) fn gaps(&self) -> impl Iterator<Item = u64> {
        (0..self.gap_count()).map_while(|at| self.gaps.get(at))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.next == Next::Nothing
    }

    /// Makes all changes before `limit`.
    pub(crate) fn go_on(&mut self, limit: u64, pace: Pace, changes: &mut Changes) {
        while self.at < limit {
            let transition = match self.next {
                Next::Start => self.start_transition(),
                Next::FirstContent => self.start_to_respond(pace),
                Next::End => self.end_transition(),
                Next::Content(gap) => {
                    self.go_on_streaming(gap, limit, changes);
                    continue;
                }
                Next::ContentWithEnd(gap) => {
                    let contents = self.gap_count() - gap;
                    changes.push_content(self.at, Content::new(self.rate, self.rate, self.arrival * contents as f64));
                    (self.at, self.next) = (self.timing.end, Next::End);
                    continue;
                }
                Next::Nothing => return,
            };
            changes.push_transition(self.at, transition);
            self.advance();
        }
    }

    /// Makes the changes of contents, starting with the one that ends `gap`.
    #[inline]
    fn go_on_streaming(&mut self, mut gap: usize, limit: u64, changes: &mut Changes) {
        let (tokens, share) = (self.arrival, self.share);
        while self.at < limit {
            let next = self.gaps.get(gap + 1);
            let pace = pace_of(next, share, self.rate);
            changes.push_content(self.at, Content::new(self.rate, pace, tokens));
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

    /// The content that ends a gap. Content that arrives with the end counts as arriving before it: its tokens are in
    /// flight for the last nanosecond, and the pace of its gap lasts until the end.
    #[inline]
    fn content(&self, at: u64, gap: usize) -> (u64, Next) {
        let end = self.timing.end;
        if at < end { (at, Next::Content(gap)) } else { (end - 1, Next::ContentWithEnd(gap)) }
    }

    /// Produces nothing from now on: other requests have gaps, and this one has none.
    pub(crate) fn stop_even_pace(&mut self) {
        self.rate = 0.0;
    }

    /// Whether its output is assumed to arrive content by content.
    fn streams(&self) -> bool {
        self.timing.generation.is_some_and(|first| self.timing.end > first)
            && self.timing.output.is_some_and(|output| output >= 1)
            && self.gap_count() > 0
    }

    fn advance(&mut self) {
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

    fn start_transition(&self) -> Transition {
        let generates = i8::from(self.timing.generation.is_some());
        let rate = self.timing.prefill().unwrap_or(0.0) * PER_SECOND;
        let tokens = self.timing.prompt().unwrap_or(0) as f64;
        Transition { in_flight: 1, prefilling: generates, prefill: rate, tokens, ..Transition::default() }
    }

    fn start_to_respond(&mut self, pace: Pace) -> Transition {
        let prefill = self.timing.prefill().unwrap_or(0.0) * PER_SECOND;
        let even = self.timing.decode().unwrap_or(0.0) * PER_SECOND;
        self.rate = match pace {
            Pace::Even => even,
            Pace::Gaps if self.streams() => pace_of(self.gaps.get(0), self.share, 0.0),
            Pace::Gaps => 0.0,
        };
        let tokens = if self.streams() { 1.0 } else { self.timing.produced().unwrap_or(0) as f64 };
        Transition { in_flight: 0, prefilling: -1, decoding: 1, prefill: -prefill, decode: self.rate, even, tokens }
    }

    fn end_transition(&self) -> Transition {
        if self.timing.generation.is_none() {
            return Transition { in_flight: -1, ..Transition::default() };
        }
        let held = self.timing.prompt().unwrap_or(0) + self.timing.produced().unwrap_or(0);
        Transition {
            in_flight: -1,
            decoding: -1,
            decode: -self.rate,
            even: -self.timing.decode().unwrap_or(0.0) * PER_SECOND,
            tokens: -(held as f64),
            ..Transition::default()
        }
    }
}

/// The rate of production in a gap. After a gap of zero length, the next content follows at once.
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
    use crate::curves::change::Levels;
    use crate::numbers::sum::Sum;

    fn request(gaps: &[u64]) -> SweptRequest {
        let timing = Timing { start: 100, end: 1000, generation: Some(300), input: Some(7), output: Some(5) };
        SweptRequest::new(timing, gaps)
    }

    /// Instants, with the requests and tokens in flight after each.
    fn seen(request: &mut SweptRequest, limits: &[u64], pace: Pace) -> Vec<(u64, i64, f64)> {
        let (mut seen, mut levels, mut changes) = (Vec::new(), Levels::default(), Changes::default());
        for &limit in limits {
            changes.restart(0, limit);
            request.go_on(limit, pace, &mut changes);
            changes.sort();
            for (contents, transition) in changes.runs() {
                for (at, content) in contents.iter() {
                    levels.add_content(content);
                    seen.push((at, levels.in_flight, levels.tokens));
                }
                if let Some((at, transition)) = transition {
                    levels.add_transition(transition);
                    seen.push((at, levels.in_flight, levels.tokens));
                }
            }
            assert!(seen.iter().all(|(at, ..)| *at < limit));
        }
        assert!(request.is_over());
        assert_eq!((levels.in_flight, levels.prefilling, levels.decoding), (0, 0, 0));
        assert_eq!([levels.prefill, levels.decode, levels.total], [Sum::default(); 3]);
        assert_eq!(levels.tokens, 0.0);
        seen
    }

    #[test]
    fn every_change_has_its_instant() {
        let last = (1000, 0, 0.0);
        for pace in [Pace::Gaps, Pace::Even] {
            let contents = seen(&mut request(&[100, 0, 200]), &[5000], pace);
            let third = 4.0 / 3.0;
            assert_eq!(contents[..3], [(100, 1, 7.0), (300, 1, 8.0), (400, 1, 8.0 + third)]);
            assert_eq!((contents[3].0, contents[4].0, contents[5]), (400, 600, last));
            assert_eq!(seen(&mut request(&[]), &[5000], pace), [(100, 1, 7.0), (300, 1, 12.0), last]);
            let long = 1 << 40;
            let mut slow = request(&[100, long, 200]);
            slow.timing.end = 2 * long;
            let slow: Vec<u64> = slow.gaps().chain([slow.gap_count() as u64]).collect();
            assert_eq!(slow, [100, long, 200, 3]);
            let beyond: Vec<u64> = seen(&mut request(&[900, 900]), &[5000], pace).iter().map(|seen| seen.0).collect();
            assert_eq!(beyond, [100, 300, 999, 1000]);
        }
    }

    #[test]
    fn a_request_begins_before_its_content_and_ends_after_it() {
        // The first gap has zero length, and the last content arrives with the end.
        let at_once = seen(&mut request(&[0, 700]), &[5000], Pace::Gaps);
        assert_eq!(at_once, [(100, 1, 7.0), (300, 1, 8.0), (300, 1, 10.0), (999, 1, 12.0), (1000, 0, 0.0)]);
    }

    #[test]
    fn changes_continue_where_they_left_off() {
        let whole = seen(&mut request(&[100, 0, 200]), &[5000], Pace::Gaps);
        assert_eq!(seen(&mut request(&[100, 0, 200]), &[150, 350, 401, 402, 5000], Pace::Gaps), whole);
    }
}
