//! Which turns of a conversation are sent, and when.
//!
//! Shapes are made of what was noted of turns while rows were checked, conversations of rows that are read again; both
//! ask here, so that they agree.

use aiperf_plan::{FilePlan, TimestampWindow};
use aiperf_types::{Turn, TurnShape};

use super::Format;
use super::fault::Fault;
use crate::turn_shape;
use crate::turn_shape::LONGEST_MS;

const SYSTEM: &str = "system";

/// What of a turn decides whether it is sent, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnNote {
    /// NaN is none, here and below: there may be millions.
    delay_ms: f64,
    timestamp_ms: f64,
    role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Says what a system message may say.
    SystemMessage,
    /// A turn like any other, though of the system's role.
    System,
    Other,
}

impl TurnNote {
    /// Of a turn as its row has it.
    pub(super) fn of(turn: &Turn) -> Self {
        let is_text = !turn.texts.is_empty()
            && [&turn.images, &turn.audios, &turn.videos].into_iter().all(Vec::is_empty)
            && turn.timestamp_ms.is_none()
            && turn.delay_ms.is_none()
            && turn.max_tokens.is_none()
            && turn.extra_body.is_none();
        let role = match turn.role.as_deref() {
            Some(SYSTEM) if is_text => Role::SystemMessage,
            Some(SYSTEM) => Role::System,
            _ => Role::Other,
        };
        let (delay_ms, timestamp_ms) = (turn.delay_ms.unwrap_or(f64::NAN), turn.timestamp_ms.unwrap_or(f64::NAN));
        Self { delay_ms, timestamp_ms, role }
    }

    /// Counts its time from another zero.
    pub(super) fn move_back(&mut self, zero_ms: f64) {
        self.timestamp_ms -= zero_ms;
    }

    pub(super) fn timestamp_ms(&self) -> Option<f64> {
        number(self.timestamp_ms)
    }
}

fn number(number: f64) -> Option<f64> {
    (!number.is_nan()).then_some(number)
}

/// What the plan says of turns and their times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selection {
    hoists_system: bool,
    window: TimestampWindow,
    delay_ratio: f64,
    delay_cap_ms: Option<f64>,
}

impl Selection {
    pub(super) fn new(plan: &FilePlan, format: &Format) -> Self {
        Self {
            hoists_system: plan.hoist_system && format.hoists_system,
            window: plan.window,
            delay_ratio: plan.delay_ratio,
            delay_cap_ms: plan.delay_cap_ms,
        }
    }

    /// Whether the first turn of a conversation is its system message. Where nothing else would be sent, or the next
    /// turn is the system's too, it is a turn like any other.
    pub(super) fn is_led_by_system(&self, turns: &[TurnNote]) -> bool {
        match turns {
            [first, second, ..] => {
                self.hoists_system && first.role == Role::SystemMessage && second.role == Role::Other
            }
            _ => false,
        }
    }

    /// Of each turn of a conversation, whether it is sent. One without a timestamp goes with the one before it, which it
    /// follows after a delay.
    pub(super) fn are_sent(&self, turns: &[TurnNote]) -> impl Iterator<Item = bool> {
        let is_led = self.is_led_by_system(turns);
        let window = self.window;
        let mut is_inside = true;
        turns.iter().enumerate().map(move |(index, turn)| {
            is_inside = turn.timestamp_ms().map_or(is_inside, |timestamp| window.contains(timestamp));
            is_inside && !(is_led && index == 0)
        })
    }

    /// How many turns are not sent for their time.
    pub(super) fn left_out(&self, turns: &[TurnNote]) -> usize {
        let sent = self.are_sent(turns).filter(|is_sent| *is_sent).count();
        turns.len() - sent - usize::from(self.is_led_by_system(turns))
    }

    /// The turns that are sent, as a schedule sees them.
    pub(super) fn shapes(&self, turns: &[TurnNote]) -> impl Iterator<Item = TurnShape> {
        let sent = turns.iter().zip(self.are_sent(turns)).filter(|(_, is_sent)| *is_sent);
        sent.map(|(turn, _)| turn_shape(self.delay_ms(number(turn.delay_ms)), turn.timestamp_ms()))
    }

    /// A delay as it is kept to.
    pub(super) fn delay_ms(&self, delay_ms: Option<f64>) -> Option<f64> {
        let delay_ms = delay_ms? * self.delay_ratio;
        Some(self.delay_cap_ms.map_or(delay_ms, |cap| delay_ms.min(cap)))
    }

    /// Refuses turns that would wait for longer than a run can last.
    pub(super) fn check_delays(&self, turns: &[Turn]) -> Result<(), Fault> {
        let delays = turns.iter().filter_map(|turn| Some((turn.delay_ms?, self.delay_ms(turn.delay_ms)?)));
        match delays.into_iter().find(|(_, kept)| *kept > LONGEST_MS) {
            None => Ok(()),
            Some((delay, kept)) => Err(Fault(format!(
                "delay {delay} becomes {kept:e} at a ratio of {}, and one is at most {LONGEST_MS:e} milliseconds\n  try: a \
                 smaller --session-delay-ratio",
                self.delay_ratio
            ))),
        }
    }

    /// Whether long delays are what somebody asked for.
    pub(super) fn caps_delays(&self) -> bool {
        self.delay_cap_ms.is_some()
    }

    /// Why a file of which nothing is sent has nothing to send.
    pub(super) fn nothing_left(&self, turns: &[TurnNote]) -> String {
        let times = || turns.iter().filter_map(TurnNote::timestamp_ms);
        let (first, last) = (times().fold(f64::INFINITY, f64::min), times().fold(f64::NEG_INFINITY, f64::max));
        let from = self.window.start_ms.map(|start| format!(" from {start} ms")).unwrap_or_default();
        let to = self.window.end_ms.map(|end| format!(" to {end} ms")).unwrap_or_default();
        format!(
            "has no turns with timestamps{from}{to}\n  its timestamps go from {first} ms to {last} ms\n  try: \
             --fixed-schedule-start-offset and --fixed-schedule-end-offset with some of them between"
        )
    }
}
