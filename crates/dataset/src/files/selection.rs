//! Which turns of a conversation are sent, and when.
//!
//! Shapes come from the notes on turns that were made while rows were checked. Conversations come from rows that are
//! parsed again. Both use the functions here, so that they agree.

use aiperf_plan::{FilePlan, TimestampWindow};
use aiperf_types::{Turn, TurnShape};

use super::Format;
use super::fault::Fault;
use crate::turn_shape;
use crate::turn_shape::LONGEST_MS;

const SYSTEM: &str = "system";

/// The properties of a turn that decide whether it is sent, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnNote {
    /// NaN means none, here and below: there may be millions of turns.
    delay_ms: f64,
    timestamp_ms: f64,
    role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Its content can be a system message.
    SystemMessage,
    /// A turn with the system role that is sent like any other.
    System,
    Other,
}

impl TurnNote {
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

    /// Moves the zero of its timestamp.
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

/// The plan's settings for turns and their times.
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

    /// Whether the first turn of a conversation becomes its system message. If nothing else would be sent, or the next
    /// turn has the system role too, it stays a turn.
    pub(super) fn is_led_by_system(&self, turns: &[TurnNote]) -> bool {
        match turns {
            [first, second, ..] => {
                self.hoists_system && first.role == Role::SystemMessage && second.role == Role::Other
            }
            _ => false,
        }
    }

    /// For each turn of a conversation, whether it is sent. A turn without a timestamp follows the one before it after
    /// a delay, so it is sent if that one is.
    pub(super) fn are_sent(&self, turns: &[TurnNote]) -> impl Iterator<Item = bool> {
        let is_led = self.is_led_by_system(turns);
        let window = self.window;
        let mut is_inside = true;
        turns.iter().enumerate().map(move |(index, turn)| {
            is_inside = turn.timestamp_ms().map_or(is_inside, |timestamp| window.contains(timestamp));
            is_inside && !(is_led && index == 0)
        })
    }

    /// The number of turns that are not sent because of their time.
    pub(super) fn left_out(&self, turns: &[TurnNote]) -> usize {
        let sent = self.are_sent(turns).filter(|is_sent| *is_sent).count();
        turns.len() - sent - usize::from(self.is_led_by_system(turns))
    }

    /// The shapes of the turns that are sent, for the schedule.
    pub(super) fn shapes(&self, turns: &[TurnNote]) -> impl Iterator<Item = TurnShape> {
        let sent = turns.iter().zip(self.are_sent(turns)).filter(|(_, is_sent)| *is_sent);
        sent.map(|(turn, _)| turn_shape(self.delay_ms(number(turn.delay_ms)), turn.timestamp_ms()))
    }

    /// A delay after scaling and capping.
    pub(super) fn delay_ms(&self, delay_ms: Option<f64>) -> Option<f64> {
        let delay_ms = delay_ms? * self.delay_ratio;
        Some(self.delay_cap_ms.map_or(delay_ms, |cap| delay_ms.min(cap)))
    }

    /// Refuses turns that would wait longer than a run can last.
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

    /// Whether the user has set a cap, so that long delays are intended.
    pub(super) fn caps_delays(&self) -> bool {
        self.delay_cap_ms.is_some()
    }

    /// The message for a file from which nothing is sent.
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
