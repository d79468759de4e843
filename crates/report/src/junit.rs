//! Outcomes as JUnit XML, for CI systems.
//!
//! [`junit_xml`] has thirty lines. `quick-junit` would replace them with six packages, among them an XML parser, UUIDs
//! and a parser of terminal escapes.

use crate::format::markup::escape_markup;

/// One check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JunitCase {
    /// Its group: systems sort cases by it.
    pub class: String,
    pub name: String,
    pub outcome: JunitOutcome,
}

/// The result, with a message if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JunitOutcome {
    Passed,
    Failed(String),
    /// The check was inconclusive.
    Skipped(String),
    /// It could not be checked.
    Error(String),
}

impl JunitOutcome {
    /// The element of the result, and its message.
    fn element(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Passed => None,
            Self::Failed(words) => Some(("failure", words)),
            Self::Skipped(words) => Some(("skipped", words)),
            Self::Error(words) => Some(("error", words)),
        }
    }
}

/// The document: one suite with its cases.
pub fn junit_xml(suite: &str, cases: &[JunitCase]) -> String {
    let count = |element: &str| {
        cases.iter().filter(|case| case.outcome.element().is_some_and(|(name, _)| name == element)).count()
    };
    let totals = format!(
        "name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        escape_markup(suite),
        cases.len(),
        count("failure"),
        count("error"),
        count("skipped"),
    );
    let mut out =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {totals}>\n  <testsuite {totals}>\n",);
    for case in cases {
        let head = format!("classname=\"{}\" name=\"{}\"", escape_markup(&case.class), escape_markup(&case.name));
        match case.outcome.element() {
            None => out.push_str(&format!("    <testcase {head}/>\n")),
            Some((element, words)) => {
                let first = words.lines().next().unwrap_or_default();
                out.push_str(&format!(
                    "    <testcase {head}>\n      <{element} message=\"{}\">{}</{element}>\n    </testcase>\n",
                    escape_markup(first),
                    escape_markup(words),
                ));
            }
        }
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, outcome: JunitOutcome) -> JunitCase {
        JunitCase { class: "aiperf.compare".into(), name: name.into(), outcome }
    }

    #[test]
    fn each_outcome_is_an_element_and_is_counted() {
        let cases = [
            case("a", JunitOutcome::Passed),
            case("b", JunitOutcome::Failed("5% over\nmore \"words\"".into())),
            case("c", JunitOutcome::Skipped("too little data".into())),
            case("d", JunitOutcome::Error("not measured".into())),
        ];
        insta::assert_snapshot!(junit_xml("a & b", &cases), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="a &amp; b" tests="4" failures="1" errors="1" skipped="1">
          <testsuite name="a &amp; b" tests="4" failures="1" errors="1" skipped="1">
            <testcase classname="aiperf.compare" name="a"/>
            <testcase classname="aiperf.compare" name="b">
              <failure message="5% over">5% over&#10;more &quot;words&quot;</failure>
            </testcase>
            <testcase classname="aiperf.compare" name="c">
              <skipped message="too little data">too little data</skipped>
            </testcase>
            <testcase classname="aiperf.compare" name="d">
              <error message="not measured">not measured</error>
            </testcase>
          </testsuite>
        </testsuites>
        "#);
    }
}
