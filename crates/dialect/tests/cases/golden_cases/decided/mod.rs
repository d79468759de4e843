//! Where a request or a reading differs from the reference's by decision: predicates on what a case holds, each with
//! the row of the specification that asks for it.

mod forms;
mod texts;
mod vectors;

use aiperf_golden::skips_mark;
use aiperf_types::Parsed;
use serde_json::Value;

/// Why a request differs from the case.
pub(crate) fn request(case: &Value) -> Option<String> {
    texts::request(case).or_else(|| vectors::request(case)).or_else(|| forms::request(case)).map(str::to_owned)
}

/// A part of what a case expects of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Whether it raises, and what.
    Failure,
    /// The content of each response.
    Responses,
    Usage,
    /// The output of the whole response.
    Text,
    Reasoning,
    /// When content came, and whether there was any.
    Content,
    /// What later turns repeat of it.
    Turn,
    /// What later turns go on from.
    Id,
}

/// A way in which our reading differs from the reference's.
pub(crate) struct Decided {
    pub(crate) reason: &'static str,
    /// What therefore differs; everything else is as the case has it.
    pub(crate) differs: &'static [Part],
    /// Whether a case is of that kind; the values are the JSON of its responses.
    pub(crate) applies: fn(&Value, &[Value]) -> bool,
    /// What must be true of our reading instead, next to what the case expects.
    pub(crate) holds: fn(&Parsed, &Value) -> bool,
}

/// In which ways the reading of a case differs.
#[derive(Default)]
pub(crate) struct Differences(Vec<&'static Decided>);

impl Differences {
    pub(crate) fn of(case: &Value, bodies: &[Value]) -> Self {
        let all = [texts::READINGS, vectors::READINGS, forms::READINGS].into_iter().flatten();
        Self(all.filter(|decided| (decided.applies)(case, bodies)).collect())
    }

    pub(crate) fn have(&self, part: Part) -> bool {
        self.0.iter().any(|decided| decided.differs.contains(&part))
    }

    pub(crate) fn check(&self, parsed: &Parsed, wanted: &Value) {
        for decided in &self.0 {
            assert!((decided.holds)(parsed, wanted), "not so: {}: {parsed:?}", decided.reason);
        }
    }
}

/// Why nothing of a case can be read.
pub(crate) fn unreadable(case: &Value) -> Option<String> {
    let refused = || "an expression that is none is refused before anything is sent".to_owned();
    forms::is_refused(case).then(refused).or_else(|| skips_mark(&case["responses"]))
}

/// Why what is counted of a body differs from the case.
pub(crate) fn inputs(case: &Value) -> Option<String> {
    vectors::inputs(case).map(str::to_owned)
}
