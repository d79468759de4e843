//! Which rows of a trace are turns of one session.

use rand::RngExt;

use aiperf_plan::draw::Purpose;

use super::entry::Chat;
use super::rows::Rows;

/// Sessions, by their rows.
#[derive(Debug)]
pub(super) struct Sessions {
    /// Rows by session, in order within each.
    pub(super) order: Vec<u32>,
    /// Where the rows of each session end.
    pub(super) ends: Vec<u32>,
    /// For each session, how many before it had no name, in the order of the file.
    pub(super) unnamed: Vec<u32>,
    /// For each session, the id of the first row of its chain of replies; empty if rows have names.
    pub(super) roots: Vec<i64>,
}

/// The order of the rows of a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The order of the file, or of the turn numbers of rows.
    Listed,
    /// The order of their times, in whole milliseconds; sessions are ordered by their first row.
    Timed,
}

impl Sessions {
    pub(super) fn of(rows: &Rows, order: Order) -> Self {
        let is_chat = !rows.chats.is_empty();
        let leaders = if is_chat { chat_leaders(&rows.chats) } else { name_leaders(rows) };
        let mut by_session: Vec<u32> = (0..rows.len() as u32).collect();
        let leader = |row: u32| leaders[row as usize];
        let time = |row: u32| rows.times_ms[row as usize].trunc();
        let turn = |row: u32| rows.chats.get(row as usize).map_or(0, |chat| chat.turn);
        by_session.sort_unstable_by(|a, b| {
            let within = match order {
                Order::Listed => turn(*a).cmp(&turn(*b)),
                Order::Timed => time(*a).total_cmp(&time(*b)),
            };
            leader(*a).cmp(&leader(*b)).then(within).then(a.cmp(b))
        });
        let count = (0..).zip(&leaders).filter(|(row, leader)| row == *leader).count();
        let (ends, unnamed) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut sessions = Self { order: by_session, ends, unnamed, roots: Vec::new() };
        let mut unnamed = 0;
        for (position, row) in sessions.order.iter().enumerate() {
            let is_last = sessions.order.get(position + 1).is_none_or(|next| leader(*next) != leader(*row));
            if is_last {
                sessions.ends.push(position as u32 + 1);
                sessions.unnamed.push(unnamed);
                if is_chat {
                    sessions.roots.push(rows.chats[leader(*row) as usize].id);
                } else {
                    unnamed += u32::from(rows.session(*row as usize).is_none());
                }
            }
        }
        if order == Order::Timed {
            sessions.sort_by_first(|row| rows.times_ms[row as usize]);
        }
        sessions
    }

    fn sort_by_first(&mut self, time: impl Fn(u32) -> f64) {
        let mut numbers: Vec<u32> = (0..self.ends.len() as u32).collect();
        numbers.sort_by(|a, b| {
            let first = |session: &u32| time(self.order[self.range(*session as usize).start]);
            first(a).total_cmp(&first(b))
        });
        let (mut order, mut ends) = (Vec::with_capacity(self.order.len()), Vec::with_capacity(self.ends.len()));
        for number in &numbers {
            order.extend_from_slice(&self.order[self.range(*number as usize)]);
            ends.push(order.len() as u32);
        }
        self.unnamed = numbers.iter().map(|number| self.unnamed[*number as usize]).collect();
        (self.order, self.ends) = (order, ends);
    }

    /// The positions of a session's rows.
    pub(super) fn range(&self, session: usize) -> std::ops::Range<usize> {
        let start = session.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[session] as usize
    }

    pub(super) fn rows(&self, session: usize) -> &[u32] {
        &self.order[self.range(session)]
    }

    /// Makes each row a session of its own; returns the number of each within its old session.
    pub(super) fn split(&mut self) -> Vec<u32> {
        let sizes = (0..self.ends.len()).map(|session| self.range(session).len());
        let parts: Vec<u32> = sizes.clone().flat_map(|size| 0..size as u32).collect();
        self.unnamed =
            sizes.zip(&self.unnamed).flat_map(|(size, unnamed)| std::iter::repeat_n(*unnamed, size)).collect();
        self.ends = (1..=self.order.len() as u32).collect();
        parts
    }

    /// For each row, whether it belongs to a random share of the sessions; at least one session does. Draws go by the
    /// order of session times.
    pub(super) fn sampled(rows: &Rows, share: f64, draws: &Purpose) -> Vec<bool> {
        let sessions = Self::of(rows, Order::Timed);
        let drawn: Vec<f64> = (0..sessions.ends.len() as u64).map(|session| draws.at(session).random()).collect();
        let least = drawn.iter().copied().fold(f64::INFINITY, f64::min);
        let mut kept = vec![false; rows.len()];
        for (session, drawn) in drawn.into_iter().enumerate() {
            let is_kept = drawn < share || drawn == least;
            sessions.rows(session).iter().for_each(|row| kept[*row as usize] = is_kept);
        }
        kept
    }
}

/// For each row, the first row of its session.
fn name_leaders(rows: &Rows) -> Vec<u32> {
    let mut leaders: Vec<u32> = (0..rows.len() as u32).collect();
    let session = |row: u32| rows.session(row as usize);
    let mut named: Vec<u32> = leaders.iter().copied().filter(|row| session(*row).is_some()).collect();
    named.sort_unstable_by_key(|row| (session(*row), *row));
    for of_one in named.chunk_by(|a, b| session(*a) == session(*b)) {
        of_one.iter().for_each(|row| leaders[*row as usize] = of_one[0]);
    }
    leaders
}

/// For each row, the root of its chain of replies: a row whose parent is missing or, if the replies form a cycle, the
/// row that the search returns to.
fn chat_leaders(chats: &[Chat]) -> Vec<u32> {
    const UNKNOWN: u32 = u32::MAX;
    let mut by_id: Vec<(i64, u32)> = chats.iter().zip(0..).map(|(chat, row)| (chat.id, row)).collect();
    by_id.sort_unstable();
    let row_of = |id: i64| {
        let first = by_id.partition_point(|(other, _)| *other < id);
        by_id.get(first).filter(|(other, _)| *other == id).map(|(_, row)| *row)
    };
    let mut leaders = vec![UNKNOWN; chats.len()];
    let mut path = Vec::new();
    // A row on the current path is its own leader.
    for row in 0..chats.len() as u32 {
        if leaders[row as usize] != UNKNOWN {
            continue;
        }
        path.clear();
        let mut at = row;
        let leader = loop {
            leaders[at as usize] = at;
            path.push(at);
            let chat = chats[at as usize];
            match row_of(chat.parent).filter(|_| chat.parent != chat.id && chat.parent != -1) {
                None => break at,
                Some(parent) if leaders[parent as usize] != UNKNOWN => break leaders[parent as usize],
                Some(parent) => at = parent,
            }
        };
        path.iter().for_each(|row| leaders[*row as usize] = leader);
    }
    leaders
}
