//! Outcomes as JUnit XML, for CI systems.
//!
//! [`junit_xml`] has thirty lines. `quick-junit` cannot write this file: it counts no skipped cases, but `disabled` ones.
//! It also needs six packages, among them an XML parser, UUIDs and a parser of terminal escapes.

use aiperf_figures::escape_markup;

/// One check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JunitCase {
    /// Its group: systems sort cases by it.
    pub class: String,
    pub name: String,
    pub outcome: JunitOutcome,
    /// Facts about it, by name.
    pub properties: Vec<(String, String)>,
    /// Text about it, whatever the outcome.
    pub output: Option<String>,
}

impl JunitCase {
    /// A case without properties and without text.
    pub fn new(class: impl Into<String>, name: impl Into<String>, outcome: JunitOutcome) -> Self {
        Self { class: class.into(), name: name.into(), outcome, properties: Vec::new(), output: None }
    }

    /// The elements inside its own.
    fn content(&self) -> String {
        let mut out = properties_xml(&self.properties, "      ");
        if let Some((element, words)) = self.outcome.element() {
            let first = escape_markup(words.lines().next().unwrap_or_default());
            out.push_str(&format!("      <{element} message=\"{first}\">{}</{element}>\n", escape_markup(words)));
        }
        if let Some(output) = &self.output {
            out.push_str(&format!("      <system-out>{}</system-out>\n", escape_markup(output)));
        }
        out
    }
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

/// The document: one suite with its properties and cases.
pub fn junit_xml(suite: &str, properties: &[(String, String)], cases: &[JunitCase]) -> String {
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
    out.push_str(&properties_xml(properties, "    "));
    for case in cases {
        let head = format!("classname=\"{}\" name=\"{}\"", escape_markup(&case.class), escape_markup(&case.name));
        let content = case.content();
        out.push_str(&match content.is_empty() {
            true => format!("    <testcase {head}/>\n"),
            false => format!("    <testcase {head}>\n{content}    </testcase>\n"),
        });
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

fn properties_xml(properties: &[(String, String)], indent: &str) -> String {
    if properties.is_empty() {
        return String::new();
    }
    let one = |(name, value): &(String, String)| {
        let (name, value) = (escape_markup(name), escape_markup(value));
        format!("{indent}  <property name=\"{name}\" value=\"{value}\"/>\n")
    };
    format!("{indent}<properties>\n{}{indent}</properties>\n", properties.iter().map(one).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, outcome: JunitOutcome) -> JunitCase {
        JunitCase::new("aiperf.compare", name, outcome)
    }

    #[test]
    fn each_outcome_is_an_element_and_is_counted() {
        let cases = [
            case("a", JunitOutcome::Passed),
            case("b", JunitOutcome::Failed("5% over\nmore \"words\"".into())),
            case("c", JunitOutcome::Skipped("too little data".into())),
            case("d", JunitOutcome::Error("not measured".into())),
        ];
        insta::assert_snapshot!(junit_xml("a & b", &[], &cases), @r#"
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

    #[test]
    fn properties_and_text_are_there_whatever_the_outcome() {
        let property = |value: &str| vec![("verdict".to_owned(), value.to_owned())];
        let with = |case| JunitCase { properties: property("doubtful"), output: Some("a\n- b < c".into()), ..case };
        let cases = [
            with(case("a", JunitOutcome::Passed)),
            with(case("b", JunitOutcome::Failed("d".into()))),
            case("c", JunitOutcome::Passed),
        ];
        insta::assert_snapshot!(junit_xml("s", &property("client-bound"), &cases), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="s" tests="3" failures="1" errors="0" skipped="0">
          <testsuite name="s" tests="3" failures="1" errors="0" skipped="0">
            <properties>
              <property name="verdict" value="client-bound"/>
            </properties>
            <testcase classname="aiperf.compare" name="a">
              <properties>
                <property name="verdict" value="doubtful"/>
              </properties>
              <system-out>a&#10;- b &lt; c</system-out>
            </testcase>
            <testcase classname="aiperf.compare" name="b">
              <properties>
                <property name="verdict" value="doubtful"/>
              </properties>
              <failure message="d">d</failure>
              <system-out>a&#10;- b &lt; c</system-out>
            </testcase>
            <testcase classname="aiperf.compare" name="c"/>
          </testsuite>
        </testsuites>
        "#);
    }
}
