//! Conversations as a schedule sees them: when their turns may go out, never what they say.

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
    /// The conversation that is started.
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

/// Every conversation of a dataset, by index. A million of one turn each take no memory.
#[derive(Clone, Debug)]
pub struct Shapes(Kept);

#[derive(Clone, Debug)]
enum Kept {
    /// So many of one turn, with neither delays nor times.
    Single(u32),
    Listed(Vec<Shape>),
}

impl Shapes {
    /// So many conversations of one turn that may go out at any time.
    pub fn single(conversations: u32) -> Self {
        Self(Kept::Single(conversations))
    }

    pub fn listed(shapes: Vec<Shape>) -> Self {
        let plain = |shape: &Shape| shape.turns == [TurnShape::default()] && shape.branches.is_empty();
        if shapes.iter().all(plain) { Self::single(shapes.len() as u32) } else { Self(Kept::Listed(shapes)) }
    }

    pub fn len(&self) -> u32 {
        match &self.0 {
            Kept::Single(conversations) => *conversations,
            Kept::Listed(shapes) => shapes.len() as u32,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many turns a conversation has.
    pub fn turns(&self, conversation: u32) -> u32 {
        match &self.0 {
            Kept::Single(_) => 1,
            Kept::Listed(shapes) => shapes[conversation as usize].turns.len() as u32,
        }
    }

    /// One turn of a conversation; one that it does not have may go out at any time.
    pub fn turn(&self, conversation: u32, turn: u32) -> TurnShape {
        match &self.0 {
            Kept::Single(_) => TurnShape::default(),
            Kept::Listed(shapes) => shapes[conversation as usize].turns.get(turn as usize).copied().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversations_of_one_turn_are_counted_and_not_kept() {
        let plain = Shape { turns: vec![TurnShape::default()], branches: Vec::new() };
        assert!(matches!(Shapes::listed(vec![plain.clone(), plain.clone()]).0, Kept::Single(2)));
        let delay = Some(Nanos(5));
        let two = Shape { turns: vec![TurnShape::default(), TurnShape { delay, timestamp_ms: None }], ..plain.clone() };
        let shapes = Shapes::listed(vec![plain, two]);
        assert_eq!((shapes.len(), shapes.turns(0), shapes.turns(1)), (2, 1, 2));
        assert_eq!((shapes.turn(1, 1).delay, shapes.turn(1, 2).delay), (delay, None));
    }
}
