//! A page's lines as declared families with their samples, borrowed from the text.
//!
//! Declarations hold for the whole page, wherever they are: families may be repeated, interleaved, or declared after
//! their samples. A sample belongs to the family declared last before it that has samples of that name; else to any
//! family that has; else to one of its own name that is not declared.

use super::line::{Declaration, DeclaredKind, Flaw, Label, Part, SUFFIXES};
use super::{PageWarning, WarningCause, line, shown};
use aiperf_plan::redact::Redactor;
use aiperf_types::LogLevel;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

const LINE_SHOWN: usize = 100;

/// A page as it declares itself.
#[derive(Clone, Debug, Default)]
pub struct Document<'a> {
    /// In the order in which the page names them first. Two of one name differ in whether they were declared.
    pub families: Vec<DeclaredFamily<'a>>,
    /// The labels of all samples, one after the other.
    pub labels: Vec<Label<'a>>,
    pub sample_count: usize,
    pub bad_lines: Option<BadLines<'a>>,
}

impl<'a> Document<'a> {
    /// In the order of the line.
    pub fn labels(&self, sample: &Sample) -> &[Label<'a>] {
        &self.labels[sample.labels.clone()]
    }

    /// The lines that could not be read, in one warning.
    pub(crate) fn bad_line_warning(&self, redactor: &Redactor) -> Option<PageWarning> {
        let text = format!("{}; such lines are left out", self.bad_lines.as_ref()?.describe(redactor));
        Some(PageWarning { cause: WarningCause::BadLine, level: LogLevel::Warning, text })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredFamily<'a> {
    /// As declared: a counter's may or may not end in `_total`.
    pub name: Cow<'a, str>,
    /// The last one on the page.
    pub kind: DeclaredKind,
    /// Likewise; empty where there is none.
    pub help: Cow<'a, str>,
    pub samples: Vec<Sample>,
    /// Of the line that names it first.
    line: usize,
    /// A counter's samples end in `_total` or they do not: its first one decides, and others are no samples of it.
    counted_by: Option<Part>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub part: Part,
    /// Within [`Document::labels`].
    pub labels: Range<usize>,
    pub value: f64,
}

/// The lines that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLines<'a> {
    pub count: usize,
    /// Of the first, from 1.
    pub line: usize,
    pub text: &'a str,
    pub flaw: Flaw,
}

impl BadLines<'_> {
    pub(super) fn describe(&self, redactor: &Redactor) -> String {
        let (line, flaw) = (self.line, self.flaw);
        let more = match self.count - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let text = shown(self.text, LINE_SHOWN, redactor);
        format!("line {line} is not in the exposition format ({flaw}): {text}{more}")
    }
}

/// Takes a page apart. Every text is a page, if only one of bad lines.
pub fn parse(text: &str) -> Document<'_> {
    let mut reading = Reading::default();
    let steps = reading.declare(text);
    reading.sort_samples(&steps);
    let mut document = reading.document;
    document.families.sort_by_key(|family| family.line);
    document
}

/// What is left to do when all declarations are known.
enum Step<'a> {
    Enter(usize),
    Sample { line: usize, text: &'a str },
}

#[derive(Default)]
struct Reading<'a> {
    document: Document<'a>,
    declared: HashMap<Cow<'a, str>, usize>,
    undeclared: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Reading<'a> {
    /// Takes in all declarations, and lists the samples between them.
    fn declare(&mut self, text: &'a str) -> Vec<Step<'a>> {
        let mut is_open_metrics = false;
        let (mut steps, mut helps) = (Vec::new(), Vec::new());
        // Guesses, so that what grows with the page is not moved again and again.
        steps.reserve(text.len() / 96);
        self.document.labels.reserve(text.len() / 48);
        for (index, text) in text.split('\n').enumerate() {
            let (line, text) = (index + 1, text.trim());
            if text.is_empty() {
                continue;
            }
            if !text.starts_with('#') {
                steps.push(Step::Sample { line, text });
                continue;
            }
            match line::read_declaration(text) {
                Ok(Declaration::Help { name, text }) => {
                    let family = self.declared_family(name, line);
                    helps.push((family, text));
                    steps.push(Step::Enter(family));
                }
                Ok(Declaration::Type { name, kind }) => {
                    let family = self.declared_family(name, line);
                    self.document.families[family].kind = kind;
                    steps.push(Step::Enter(family));
                }
                Ok(Declaration::End) => is_open_metrics = true,
                Ok(Declaration::Comment) => {}
                Err(flaw) => self.note_bad_line(line, text, flaw),
            }
        }
        for (family, text) in helps {
            self.document.families[family].help = line::unescape_help(text, is_open_metrics);
        }
        steps
    }

    fn sort_samples(&mut self, steps: &[Step<'a>]) {
        let mut current = None;
        for step in steps {
            let (line, text) = match step {
                Step::Enter(family) => {
                    current = Some(*family);
                    continue;
                }
                Step::Sample { line, text } => (*line, *text),
            };
            let first_label = self.document.labels.len();
            match line::read_sample(text, &mut self.document.labels) {
                Ok((name, value)) => {
                    let (family, part) = self.family_of(current, name, line);
                    let labels = first_label..self.document.labels.len();
                    let family = &mut self.document.families[family];
                    family.counted_by = family.counted_by.or((part != Part::Created).then_some(part));
                    family.samples.push(Sample { part, labels, value });
                    self.document.sample_count += 1;
                }
                Err(flaw) => self.note_bad_line(line, text, flaw),
            }
        }
    }

    fn declared_family(&mut self, name: Cow<'a, str>, line: usize) -> usize {
        if let Some(family) = self.declared.get(&name) {
            return *family;
        }
        let family = self.add_family(name.clone(), line);
        self.declared.insert(name, family);
        family
    }

    fn add_family(&mut self, name: Cow<'a, str>, line: usize) -> usize {
        let (kind, help, samples) = (DeclaredKind::Unknown, Cow::Borrowed(""), Vec::new());
        self.document.families.push(DeclaredFamily { name, kind, help, samples, line, counted_by: None });
        self.document.families.len() - 1
    }

    fn family_of(&mut self, current: Option<usize>, name: Cow<'a, str>, line: usize) -> (usize, Part) {
        let known = current.and_then(|family| self.part_in(family, &name));
        let known = known.or_else(|| self.declared.get(&name).and_then(|family| self.part_in(*family, &name)));
        let known = known.or_else(|| {
            let bases = SUFFIXES.iter().filter_map(|(suffix, _)| name.strip_suffix(suffix));
            let mut families = bases.filter_map(|base| self.declared.get(base));
            families.find_map(|family| self.part_in(*family, &name))
        });
        if let Some(known) = known {
            return known;
        }
        if let Some(family) = self.undeclared.get(&name) {
            return (*family, Part::Value);
        }
        let family = self.add_family(name.clone(), line);
        self.undeclared.insert(name, family);
        (family, Part::Value)
    }

    /// The family, and what a sample of this name is to it; `None` where it has no such samples.
    fn part_in(&self, family: usize, name: &str) -> Option<(usize, Part)> {
        let declared = &self.document.families[family];
        let part = Part::of_suffix(name.strip_prefix(&*declared.name)?)?;
        let counts_otherwise = declared.kind == DeclaredKind::Counter
            && part != Part::Created
            && declared.counted_by.is_some_and(|counted_by| counted_by != part);
        (declared.kind.has(part) && !counts_otherwise).then_some((family, part))
    }

    fn note_bad_line(&mut self, line: usize, text: &'a str, flaw: Flaw) {
        let bad = self.document.bad_lines.get_or_insert(BadLines { count: 0, line, text, flaw });
        bad.count += 1;
        if line < bad.line {
            (bad.line, bad.text, bad.flaw) = (line, text, flaw);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(String, DeclaredKind, Vec<Part>)> {
        let families = parse(text).families;
        let parts = |family: &DeclaredFamily<'_>| family.samples.iter().map(|sample| sample.part).collect();
        families.iter().map(|family| (family.name.to_string(), family.kind, parts(family))).collect()
    }

    #[test]
    fn interleaved_families_are_put_together() {
        let found = names("# TYPE a gauge\na{x=\"1\"} 1\nother 5\na{x=\"2\"} 2\nother{y=\"1\"} 6\n");
        let two = vec![Part::Value, Part::Value];
        let expected =
            [("a".to_owned(), DeclaredKind::Gauge, two.clone()), ("other".to_owned(), DeclaredKind::Unknown, two)];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_declaration_after_the_samples_still_holds() {
        let found = names("c_total 1\n# TYPE c counter\n");
        assert_eq!(found, [("c".to_owned(), DeclaredKind::Counter, vec![Part::Total])]);
    }

    #[test]
    fn of_two_families_that_have_a_name_the_one_declared_last_gets_it() {
        let text = "# TYPE h histogram\nh_count 1\n# TYPE h_count gauge\nh_count 2\n# HELP h again\nh_count 3\n";
        let found = names(text);
        let counts = vec![Part::Count, Part::Count];
        let expected = [
            ("h".to_owned(), DeclaredKind::Histogram, counts),
            ("h_count".to_owned(), DeclaredKind::Gauge, vec![Part::Value]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_counter_has_one_way_of_naming_its_samples() {
        let found = names("# TYPE c counter\nc_created 1\nc_total 1\nc 2\nc_total{a=\"1\"} 3\n");
        let counter = vec![Part::Created, Part::Total, Part::Total];
        let expected = [
            ("c".to_owned(), DeclaredKind::Counter, counter),
            ("c".to_owned(), DeclaredKind::Unknown, vec![Part::Value]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn quotes_in_help_are_escaped_on_pages_with_an_end() {
        let help = |text: &str| parse(text).families[0].help.to_string();
        assert_eq!(help("# HELP g \\\"q\\\" \\\\\ng 1\n"), r#"\"q\" \"#);
        assert_eq!(help("# HELP g \\\"q\\\" \\\\\ng 1\n# EOF\n"), r#""q" \"#);
    }

    #[test]
    fn bad_lines_are_counted_and_the_first_is_shown() {
        let bad = parse("g x\n# TYPE g weird\ng 1\nh\n").bad_lines.unwrap();
        assert_eq!((bad.count, bad.line, bad.text), (3, 1, "g x"));
        assert_eq!(
            bad.describe(&Redactor::default()),
            "line 1 is not in the exposition format (the value is not a number): g x, and 2 more"
        );
    }
}
