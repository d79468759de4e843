//! So many users at a time who come back for their next turn at a fixed interval, and are replaced when they are done.
//! They start as if this had gone on for long: some are nearly done, others have just begun.

use super::timed::SessionStarts;
use crate::dispatcher::{Dispatcher, NewSession};
use crate::message::{Draw, Identity};
use crate::sessions::LiveSession;
use crate::setup::Setup;
use aiperf_types::{MonoNs, Nanos, Shapes};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The users that a phase begins with, and the grid on which their turns lie.
#[derive(Clone, Debug, PartialEq)]
pub struct UserGrid {
    /// Between the first turns of two users, in seconds.
    pub stagger_s: f64,
    /// Between two turns of a user, in seconds.
    pub turn_gap_s: f64,
    /// Users take every so-manieth place, where taking them in order would leave some places empty.
    pub alternate_step: Option<u64>,
    pub users: Vec<GridUser>,
}

/// A user that a phase begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridUser {
    pub id: u64,
    /// Turns that it still has; `None`: all of its conversation.
    pub turns: Option<u64>,
    /// Its place on the grid: so many staggers after the start.
    pub order: u64,
}

impl UserGrid {
    /// For so many users at a rate of all their turns together, over conversations of so many turns on average.
    pub fn new(users: u32, rate: f64, session_turns: u64) -> Self {
        let all = u64::from(users.max(1));
        let longest = session_turns.saturating_sub(1).max(1);
        let step = || (2..all).find(|step| greatest_common_divisor(all, *step) == 1).unwrap_or(1);
        let alternate_step = (greatest_common_divisor(all, longest) > 1).then(step);
        let user = |index: u64| {
            let age = (all - index) * longest;
            let turns = longest.checked_sub(age / all).filter(|turns| *turns > 0)?;
            let place = alternate_step.map_or(age % all, |step| index * step % all);
            Some(GridUser { id: index + 1, turns: Some(turns), order: all - place })
        };
        let newest = GridUser { id: all + 1, turns: None, order: 0 };
        Self {
            stagger_s: 1.0 / rate,
            turn_gap_s: all as f64 / rate,
            alternate_step,
            users: (0..all).filter_map(user).chain([newest]).collect(),
        }
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[derive(Debug)]
pub(super) struct UserCentric {
    turn_gap: Nanos,
    /// Users to come, by when they do. Those of the start have their conversation and turns; who replaces them draws
    /// when its time has come.
    heap: BinaryHeap<Reverse<Coming>>,
    /// The id that the next replacement gets when it comes.
    next_id: u64,
    planned: u64,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Coming {
    at: MonoNs,
    /// Who was planned first comes first, of those that come at the same instant.
    order: u64,
    user: Option<KnownUser>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct KnownUser {
    id: u64,
    draw: Draw,
    conversation: u32,
    turns: u32,
}

impl UserCentric {
    pub(super) fn new(users: u32, rate: f64, setup: &Setup, drawn: &mut u64, now: MonoNs) -> Self {
        let grid = UserGrid::new(users, rate, mean_turns(&setup.shapes));
        let mut heap = BinaryHeap::with_capacity(grid.users.len());
        for (order, user) in (0..).zip(&grid.users) {
            let (draw, conversation) = (Draw::sampled(*drawn), setup.sampler.conversation(*drawn));
            *drawn += 1;
            let all = setup.shapes.turns(conversation).max(1);
            let turns = user.turns.map_or(all, |turns| u64::from(all).min(turns) as u32);
            let at = now.plus(Nanos((user.order as f64 * grid.stagger_s * 1e9).round() as u64));
            let known = KnownUser { id: user.id, draw, conversation, turns };
            heap.push(Reverse(Coming { at, order, user: Some(known) }));
        }
        let next_id = grid.users.last().map_or(1, |user| user.id + 1);
        let turn_gap = Nanos((grid.turn_gap_s * 1e9).round() as u64);
        Self { turn_gap, planned: heap.len() as u64, heap, next_id }
    }
}

/// Turns of a conversation on average, to the nearest whole number, of two equally near ones the even one.
fn mean_turns(shapes: &Shapes) -> u64 {
    let all: u64 = (0..shapes.len()).map(|conversation| u64::from(shapes.turns(conversation))).sum();
    (all as f64 / f64::from(shapes.len().max(1))).round_ties_even() as u64
}

impl SessionStarts for UserCentric {
    fn next(&self) -> Option<MonoNs> {
        self.heap.peek().map(|Reverse(coming)| coming.at)
    }

    fn start(&mut self, out: &mut Dispatcher<'_>) -> Option<NewSession> {
        let Reverse(Coming { at, user, .. }) = self.heap.pop()?;
        let KnownUser { id, draw, conversation, turns } = user.unwrap_or_else(|| {
            let (draw, conversation, turns) = out.draw();
            let id = self.next_id;
            self.next_id += 1;
            KnownUser { id, draw, conversation, turns }
        });
        let replaced = at.plus(Nanos(self.turn_gap.0.saturating_mul(u64::from(turns))));
        self.heap.push(Reverse(Coming { at: replaced, order: self.planned, user: None }));
        self.planned += 1;
        Some(NewSession { draw, conversation, turns, identity: Identity::User(id), planned: at })
    }

    fn due_by(&self, instant: MonoNs, _: &Shapes) -> u64 {
        self.heap.iter().filter(|Reverse(coming)| coming.at <= instant).count() as u64
    }

    /// On time, on the grid; late, at once, and the user's grid moves with it. Delays of the dataset play no part.
    fn turn_due(&self, session: &LiveSession, _: &Shapes, now: MonoNs) -> MonoNs {
        session.planned.plus(self.turn_gap).max(now)
    }
}
