//! Conversations as a schedule sees them: when their turns may go out, never their content.

use crate::Nanos;

/// One turn as a schedule sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TurnShape {
    /// Wait after the turn before it came back.
    pub delay: Option<Nanos>,
    /// When it was sent in the recording that it replays, in milliseconds.
    pub timestamp_ms: Option<f64>,
}

/// A conversation that starts while another goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The turn that starts it.
    pub after: u32,
    pub conversation: u32,
    /// The turn that waits for its end, if one does.
    pub joins: Option<u32>,
}

/// One conversation: its turns, at least one, and what they start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    pub turns: Vec<TurnShape>,
    pub branches: Vec<Branch>,
}

/// Every conversation of a dataset, by index. A million of one turn each take no memory; of others, what their turns do
/// not all share is kept: 8 bytes a conversation, and 8 a turn where delays differ or turns have times.
#[derive(Clone, Debug)]
pub struct Shapes(ShapeStore);

#[derive(Clone, Debug)]
enum ShapeStore {
    /// So many of one turn, with neither delays nor times.
    Single(u32),
    Listed(ShapeList),
}

/// Shapes one after the other.
#[derive(Clone, Debug, Default)]
pub struct ShapeList {
    /// Where the turns of each conversation end among all turns.
    ends: Vec<usize>,
    delays: Delays,
    /// Whether any turn follows another.
    has_later: bool,
    /// Of each turn; none at all where no turn has one. NaN is none.
    timestamps: Vec<f64>,
    /// By the conversation that has them.
    branches: Vec<(u32, Branch)>,
    /// Turns to make room for.
    expected: usize,
}

#[derive(Clone, Debug)]
enum Delays {
    /// None before the first turn of any conversation, and this before all others.
    Same(Option<Nanos>),
    /// Of each turn. The largest number is none.
    Each(Vec<u64>),
}

impl Default for Delays {
    fn default() -> Self {
        Self::Same(None)
    }
}

const NO_DELAY: u64 = u64::MAX;

impl ShapeList {
    /// Room for so many conversations, with so many turns together.
    pub fn with_capacity(conversations: usize, turns: usize) -> Self {
        Self { ends: Vec::with_capacity(conversations), expected: turns, ..Self::default() }
    }

    /// Adds a conversation.
    pub fn push(&mut self, turns: impl IntoIterator<Item = TurnShape>) {
        let first = self.turns_in_all();
        let mut next = first;
        for TurnShape { delay, timestamp_ms } in turns {
            self.push_delay(next, next == first, delay);
            if timestamp_ms.is_some() && self.timestamps.is_empty() {
                self.timestamps.reserve_exact(self.expected);
                self.timestamps.resize(next, f64::NAN);
            }
            if timestamp_ms.is_some() || !self.timestamps.is_empty() {
                self.timestamps.push(timestamp_ms.unwrap_or(f64::NAN));
            }
            next += 1;
        }
        self.ends.push(next);
    }

    /// Keeps the delay of the turn of a number, all turns before which are there.
    fn push_delay(&mut self, number: usize, is_first: bool, delay: Option<Nanos>) {
        if let Delays::Same(same) = &mut self.delays {
            if !is_first && !self.has_later {
                (self.has_later, *same) = (true, delay);
            }
            if delay == (if is_first { None } else { *same }) {
                return;
            }
            let mut each = Vec::with_capacity(self.expected.max(number));
            each.resize(number, same.map_or(NO_DELAY, |delay| delay.0));
            let firsts = std::iter::once(0).chain(self.ends.iter().copied());
            firsts.filter(|first| *first < number).for_each(|first| each[first] = NO_DELAY);
            self.delays = Delays::Each(each);
        }
        if let Delays::Each(each) = &mut self.delays {
            each.push(delay.map_or(NO_DELAY, |delay| delay.0.min(NO_DELAY - 1)));
        }
    }

    fn turns_in_all(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn first(&self, conversation: usize) -> usize {
        conversation.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    fn turns(&self, conversation: usize) -> usize {
        self.ends[conversation] - self.first(conversation)
    }

    fn turn(&self, conversation: usize, turn: usize) -> TurnShape {
        if turn >= self.turns(conversation) {
            return TurnShape::default();
        }
        let number = self.first(conversation) + turn;
        let delay = match &self.delays {
            Delays::Same(same) => same.filter(|_| turn > 0),
            Delays::Each(each) => Some(Nanos(each[number])).filter(|delay| delay.0 != NO_DELAY),
        };
        TurnShape { delay, timestamp_ms: self.timestamps.get(number).copied().filter(|time| !time.is_nan()) }
    }

    fn is_plain(&self) -> bool {
        let no_delays = matches!(self.delays, Delays::Same(_));
        no_delays && !self.has_later && self.timestamps.is_empty() && self.branches.is_empty()
    }
}

impl From<ShapeList> for Shapes {
    fn from(list: ShapeList) -> Self {
        if list.is_plain() { Self::single(list.ends.len() as u32) } else { Self(ShapeStore::Listed(list)) }
    }
}

impl Shapes {
    /// So many conversations of one turn that may go out at any time.
    pub fn single(conversations: u32) -> Self {
        Self(ShapeStore::Single(conversations))
    }

    pub fn listed(shapes: Vec<Shape>) -> Self {
        let mut list = ShapeList::default();
        for (conversation, shape) in shapes.into_iter().enumerate() {
            list.push(shape.turns);
            list.branches.extend(shape.branches.into_iter().map(|branch| (conversation as u32, branch)));
        }
        list.into()
    }

    pub fn len(&self) -> u32 {
        match &self.0 {
            ShapeStore::Single(conversations) => *conversations,
            ShapeStore::Listed(list) => list.ends.len() as u32,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many turns a conversation has.
    pub fn turns(&self, conversation: u32) -> u32 {
        match &self.0 {
            ShapeStore::Single(_) => 1,
            ShapeStore::Listed(list) => list.turns(conversation as usize) as u32,
        }
    }

    /// How many turns the conversations before one have together.
    pub fn turns_before(&self, conversation: u32) -> u64 {
        match &self.0 {
            ShapeStore::Single(_) => u64::from(conversation),
            ShapeStore::Listed(list) => list.first(conversation as usize) as u64,
        }
    }

    /// How many turns all conversations have together.
    pub fn turns_in_all(&self) -> u64 {
        match &self.0 {
            ShapeStore::Single(conversations) => u64::from(*conversations),
            ShapeStore::Listed(list) => list.turns_in_all() as u64,
        }
    }

    /// One turn of a conversation; one that it does not have may go out at any time.
    pub fn turn(&self, conversation: u32, turn: u32) -> TurnShape {
        match &self.0 {
            ShapeStore::Single(_) => TurnShape::default(),
            ShapeStore::Listed(list) => list.turn(conversation as usize, turn as usize),
        }
    }

    /// What the turns of a conversation start.
    pub fn branches(&self, conversation: u32) -> impl Iterator<Item = Branch> + '_ {
        let all: &[(u32, Branch)] = match &self.0 {
            ShapeStore::Single(_) => &[],
            ShapeStore::Listed(list) => &list.branches,
        };
        let first = all.partition_point(|(of, _)| *of < conversation);
        all[first..].iter().take_while(move |(of, _)| *of == conversation).map(|(_, branch)| *branch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shape(turns: Vec<TurnShape>) -> Shape {
        Shape { turns, branches: Vec::new() }
    }

    #[test]
    fn conversations_of_one_turn_are_counted_and_not_kept() {
        let plain = shape(vec![TurnShape::default()]);
        assert!(matches!(Shapes::listed(vec![plain.clone(), plain.clone()]).0, ShapeStore::Single(2)));
        let delay = Some(Nanos(5));
        let two = shape(vec![TurnShape::default(), TurnShape { delay, timestamp_ms: None }]);
        let shapes = Shapes::listed(vec![plain, two]);
        assert_eq!((shapes.len(), shapes.turns(0), shapes.turns(1)), (2, 1, 2));
        assert_eq!((shapes.turn(1, 1).delay, shapes.turn(1, 2).delay), (delay, None));
    }

    #[test]
    fn a_delay_that_all_later_turns_share_is_kept_once() {
        let later = TurnShape { delay: Some(Nanos(5)), timestamp_ms: None };
        let turns = || [TurnShape::default(), later, later].into_iter();
        let mut list = ShapeList::default();
        list.push(turns());
        list.push(turns().take(1));
        list.push(turns());
        assert!(matches!(list.delays, Delays::Same(Some(Nanos(5)))), "{list:?}");
        list.push([later]);
        assert!(matches!(list.delays, Delays::Each(_)), "{list:?}");
    }

    #[test]
    fn branches_stay_with_their_conversation() {
        let branch = |after| Branch { after, conversation: 0, joins: None };
        let with = |branches| Shape { turns: vec![TurnShape::default()], branches };
        let shapes = Shapes::listed(vec![with(vec![]), with(vec![branch(1), branch(2)]), with(vec![branch(3)])]);
        let found: Vec<Vec<u32>> = (0..3).map(|of| shapes.branches(of).map(|branch| branch.after).collect()).collect();
        assert_eq!(found, [vec![], vec![1, 2], vec![3]]);
    }

    fn turns() -> impl Strategy<Value = TurnShape> {
        let delay = prop::option::of(prop::sample::select(vec![0, 7]).prop_map(Nanos));
        let turn = (delay, prop::option::of(0.0..9.0));
        turn.prop_map(|(delay, timestamp_ms)| TurnShape { delay, timestamp_ms })
    }

    proptest! {
        #[test]
        fn what_is_kept_together_is_given_back_turn_by_turn(
            all in prop::collection::vec(prop::collection::vec(turns(), 1..4), 0..6),
        ) {
            let shapes = Shapes::listed(all.iter().cloned().map(shape).collect());
            prop_assert_eq!(shapes.len() as usize, all.len());
            prop_assert_eq!(shapes.turns_in_all() as usize, all.iter().map(Vec::len).sum::<usize>());
            for (conversation, turns) in all.iter().enumerate() {
                let of = conversation as u32;
                let found: Vec<_> = (0..shapes.turns(of)).map(|turn| shapes.turn(of, turn)).collect();
                prop_assert_eq!(&found, turns);
            }
        }
    }
}
