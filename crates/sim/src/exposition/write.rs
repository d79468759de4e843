//! Writes families: the Prometheus text format as each server's library writes it, and OpenMetrics.

use std::fmt::Write;

use super::family::{Distribution, Families, Family, FamilyType, Label, Value};

/// How a server's library writes the text format.
#[derive(Debug)]
pub(crate) struct Style {
    pub(crate) content_type: &'static str,
    /// Samples of counters end in `_total`.
    pub(crate) counters_end_in_total: bool,
    /// Whole numbers are written `1.0` and not `1`.
    pub(crate) whole_numbers_have_a_point: bool,
    /// The bound of a bucket comes after all labels and not among them.
    pub(crate) bounds_come_last: bool,
    pub(crate) sum_comes_before_count: bool,
}

pub(crate) const OPENMETRICS_CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// What an OpenMetrics page ends with.
pub(crate) const OPENMETRICS_END: &str = "# EOF\n";
const OPENMETRICS: Style = Style {
    content_type: OPENMETRICS_CONTENT_TYPE,
    counters_end_in_total: true,
    whole_numbers_have_a_point: true,
    bounds_come_last: false,
    sum_comes_before_count: false,
};
/// Units that OpenMetrics wants to be named where a name ends in them.
const UNITS: [&str; 2] = ["seconds", "bytes"];

pub(crate) fn text(families: &Families, style: &Style) -> String {
    let mut writer = Writer { out: String::with_capacity(64 << 10), style, has_exemplars: false };
    for family in &families.list {
        writer.write_family(family);
    }
    writer.out
}

/// Without its end, [`OPENMETRICS_END`].
pub(crate) fn openmetrics(families: &Families) -> String {
    let mut writer = Writer { out: String::with_capacity(64 << 10), style: &OPENMETRICS, has_exemplars: true };
    for family in &families.list {
        writer.write_openmetrics_family(family);
    }
    writer.out
}

struct Writer<'a> {
    out: String,
    style: &'a Style,
    has_exemplars: bool,
}

// Writing to a string cannot fail.
impl Writer<'_> {
    fn write_family(&mut self, family: &Family) {
        let Family { name, kind, help, created, samples } = family;
        let suffix = self.counter_suffix(*kind);
        let _ = write!(self.out, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {}\n", kind.name());
        for sample in samples {
            self.write_value(name, suffix, &sample.labels, &sample.value);
        }
        if let Some(created) = created {
            let _ = write!(self.out, "# HELP {name}_created {help}\n# TYPE {name}_created gauge\n");
            for sample in samples {
                self.write_sample(name, "_created", &sample.labels, None, *created);
            }
        }
    }

    fn write_openmetrics_family(&mut self, family: &Family) {
        let Family { name, kind, help, created, samples } = family;
        let suffix = self.counter_suffix(*kind);
        let _ = write!(self.out, "# HELP {name} {help}\n# TYPE {name} {}\n", kind.name());
        let unit = UNITS.iter().find(|unit| name.strip_suffix(*unit).is_some_and(|rest| rest.ends_with('_')));
        if let Some(unit) = unit {
            let _ = writeln!(self.out, "# UNIT {name} {unit}");
        }
        for sample in samples {
            self.write_value(name, suffix, &sample.labels, &sample.value);
            if let Some(created) = created {
                self.write_sample(name, "_created", &sample.labels, None, *created);
            }
        }
    }

    fn counter_suffix(&self, kind: FamilyType) -> &'static str {
        if kind == FamilyType::Counter && self.style.counters_end_in_total { "_total" } else { "" }
    }

    fn write_value(&mut self, name: &str, suffix: &str, labels: &[Label], value: &Value) {
        match value {
            Value::Number(number) => self.write_sample(name, suffix, labels, None, *number),
            Value::Distribution(distribution) => self.write_distribution(name, labels, distribution),
        }
    }

    fn write_distribution(&mut self, name: &str, labels: &[Label], distribution: &Distribution) {
        for bucket in &distribution.buckets {
            self.write_sample(name, "_bucket", labels, Some(bucket.bound), bucket.cumulative as f64);
            if let Some(latest) = bucket.latest.filter(|_| self.has_exemplars) {
                self.out.pop();
                let _ = writeln!(self.out, r#" # {{trace_id="{:016x}"}} {latest:?}"#, latest.to_bits());
            }
        }
        let count = ("_count", distribution.count() as f64);
        let sum = ("_sum", distribution.sum);
        for (suffix, value) in if self.style.sum_comes_before_count { [sum, count] } else { [count, sum] } {
            self.write_sample(name, suffix, labels, None, value);
        }
    }

    fn write_sample(&mut self, name: &str, suffix: &str, labels: &[Label], bound: Option<f64>, value: f64) {
        self.out.push_str(name);
        self.out.push_str(suffix);
        let before = match self.style.bounds_come_last {
            true => labels.len(),
            false => labels.partition_point(|(label, _)| *label < "le"),
        };
        let mut separator = '{';
        let mut write_label = |writer: &mut Self, label: &str, value: &dyn Fn(&mut Self)| {
            writer.out.push(std::mem::replace(&mut separator, ','));
            writer.out.push_str(label);
            writer.out.push_str("=\"");
            value(writer);
            writer.out.push('"');
        };
        for (label, value) in &labels[..before] {
            write_label(self, label, &|writer| writer.write_escaped(value));
        }
        if let Some(bound) = bound {
            write_label(self, "le", &|writer| writer.write_number(bound));
        }
        for (label, value) in &labels[before..] {
            write_label(self, label, &|writer| writer.write_escaped(value));
        }
        self.out.push_str(if separator == ',' { "} " } else { " " });
        self.write_number(value);
        self.out.push('\n');
    }

    fn write_number(&mut self, number: f64) {
        let _ = match (number.is_infinite(), self.style.whole_numbers_have_a_point) {
            (true, _) => write!(self.out, "+Inf"),
            (false, true) => write!(self.out, "{number:?}"),
            (false, false) => write!(self.out, "{number}"),
        };
    }

    fn write_escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '\\' => self.out.push_str(r"\\"),
                '"' => self.out.push_str("\\\""),
                '\n' => self.out.push_str(r"\n"),
                other => self.out.push(other),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Histogram;

    const PLAIN: Style = Style {
        content_type: "",
        counters_end_in_total: false,
        whole_numbers_have_a_point: false,
        bounds_come_last: true,
        sum_comes_before_count: true,
    };

    fn families() -> Families {
        let mut families = Families::new(vec![("model", "a\"b".into())], Some(5.0));
        let mut histogram = Histogram::new(&[0.5]);
        histogram.observe_many(0.25, 2);
        families.counter("requests", "Requests.", 3.0);
        families.histogram("time_seconds", "Time.", &histogram);
        families
    }

    #[test]
    fn the_text_format_follows_the_style() {
        assert_eq!(
            text(&families(), &PLAIN),
            r#"# HELP requests Requests.
# TYPE requests counter
requests{model="a\"b"} 3
# HELP requests_created Requests.
# TYPE requests_created gauge
requests_created{model="a\"b"} 5
# HELP time_seconds Time.
# TYPE time_seconds histogram
time_seconds_bucket{model="a\"b",le="0.5"} 2
time_seconds_bucket{model="a\"b",le="+Inf"} 2
time_seconds_sum{model="a\"b"} 0.5
time_seconds_count{model="a\"b"} 2
# HELP time_seconds_created Time.
# TYPE time_seconds_created gauge
time_seconds_created{model="a\"b"} 5
"#
        );
    }

    #[test]
    fn openmetrics_keeps_a_family_together_and_has_exemplars() {
        assert_eq!(
            openmetrics(&families()),
            r#"# HELP requests Requests.
# TYPE requests counter
requests_total{model="a\"b"} 3.0
requests_created{model="a\"b"} 5.0
# HELP time_seconds Time.
# TYPE time_seconds histogram
# UNIT time_seconds seconds
time_seconds_bucket{le="0.5",model="a\"b"} 2.0 # {trace_id="3fd0000000000000"} 0.25
time_seconds_bucket{le="+Inf",model="a\"b"} 2.0
time_seconds_count{model="a\"b"} 2.0
time_seconds_sum{model="a\"b"} 0.5
time_seconds_created{model="a\"b"} 5.0
"#
        );
    }
}
