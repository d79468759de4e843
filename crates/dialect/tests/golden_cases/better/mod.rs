//! Where a better request or a better reading differs from the reference's: predicates on what a case holds, each with
//! the row of the specification that asks for it.

mod forms;
mod texts;
mod vectors;

use serde_json::Value;

/// Why a request is better than the case has it.
pub(crate) fn request(case: &Value) -> Option<String> {
    texts::request(case).or_else(|| vectors::request(case)).or_else(|| forms::request(case)).map(str::to_owned)
}

/// Why a reading is better than the case has it; `bodies` are the JSON of its responses.
pub(crate) fn reading(case: &Value, bodies: &[Value]) -> Option<String> {
    let better = texts::reading(case, bodies)
        .or_else(|| vectors::reading(case, bodies))
        .or_else(|| forms::reading(case, bodies));
    better.map(str::to_owned)
}

/// Why what is counted of a body is better than the case has it.
pub(crate) fn inputs(case: &Value) -> Option<String> {
    vectors::inputs(case).map(str::to_owned)
}
