//! Which families of a page are kept, under which name, and in what form.

use super::document::{DeclaredFamily, Document, Sample};
use super::line::{DeclaredKind, Label, Part};
use super::strings::Strings;
use super::{Page, PageWarning, WarningCause};
use crate::scrape::{Family, HistogramSample, MetricKind, Samples, ScalarSample};
use aiperf_plan::redact::Redactor;
use aiperf_types::LogLevel;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The bound of a bucket that states none.
const NO_BOUND: &str = "+Inf";

pub(super) fn keep(mut document: Document<'_>, strings: &mut Strings, redactor: &Redactor) -> Page {
    let families = std::mem::take(&mut document.families);
    for family in &families {
        arrange_labels(family, &mut document.labels);
    }
    let names = Names::of(&families);
    let mut keeping = Keeping { labels: &document.labels, strings, page: Page::default() };
    keeping.page.warnings.extend(document.bad_line_warning(redactor));
    for family in &families {
        keeping.keep(family, names.of_family(family));
    }
    keeping.page
}

/// Sorts each sample's labels by name; of histograms, `le` comes last, so that what precedes it identifies which
/// histogram the sample is of.
fn arrange_labels(family: &DeclaredFamily<'_>, labels: &mut [Label<'_>]) {
    for sample in &family.samples {
        let labels = &mut labels[sample.labels.clone()];
        if !labels.is_sorted_by(|(a, _), (b, _)| a <= b) {
            labels.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        }
        if family.kind == DeclaredKind::Histogram
            && let Some(le) = labels.iter().position(|(name, _)| name == "le")
        {
            labels[le..].rotate_left(1);
        }
    }
}

/// The names of a page's families, to see which would be taken twice.
struct Names<'a> {
    taken: HashSet<&'a str>,
}

impl<'a> Names<'a> {
    fn of(families: &'a [DeclaredFamily<'_>]) -> Self {
        Self { taken: families.iter().map(|family| &*family.name).collect() }
    }

    /// Counters lose their `_total`, and what OpenMetrics calls an info gets its samples' `_info`, unless another
    /// family is called so.
    fn of_family(&self, family: &'a DeclaredFamily<'_>) -> FamilyName<'a> {
        let declared = &*family.name;
        match family.kind {
            DeclaredKind::Counter => match declared.strip_suffix("_total") {
                Some(short) if !self.taken.contains(short) => FamilyName { base: short, suffix: "" },
                Some(short) => FamilyName { base: short, suffix: "_total" },
                None => FamilyName { base: declared, suffix: "" },
            },
            DeclaredKind::Info if family.samples.first().is_some_and(|sample| sample.part == Part::Info) => {
                let is_taken = self.taken.contains(format!("{declared}_info").as_str());
                FamilyName { base: declared, suffix: if is_taken { "" } else { "_info" } }
            }
            _ => FamilyName { base: declared, suffix: "" },
        }
    }
}

struct FamilyName<'a> {
    /// Of counters, always without `_total`.
    base: &'a str,
    suffix: &'static str,
}

impl FamilyName<'_> {
    /// When something was made, or how long it has been there, is no measure of a run.
    fn is_of_an_age(&self) -> bool {
        self.base.ends_with("_created") || self.base.ends_with("_uptime") || self.base.contains("_uptime_")
    }
}

struct Keeping<'a> {
    labels: &'a [Label<'a>],
    strings: &'a mut Strings,
    page: Page,
}

impl<'a> Keeping<'a> {
    fn keep(&mut self, family: &DeclaredFamily<'_>, name: FamilyName<'_>) {
        if family.samples.is_empty() || name.is_of_an_age() {
            return;
        }
        let name = match name.suffix {
            "" => self.strings.share(name.base),
            suffix => self.strings.share(&format!("{}{suffix}", name.base)),
        };
        let kind = match family.kind {
            DeclaredKind::Counter => MetricKind::Counter,
            DeclaredKind::Gauge => MetricKind::Gauge,
            DeclaredKind::Histogram => MetricKind::Histogram,
            DeclaredKind::Unknown | DeclaredKind::Info | DeclaredKind::StateSet => MetricKind::Unknown,
            DeclaredKind::Summary => {
                let text = format!(
                    "summary {name} is left out: quantiles cannot be taken over a part of the time, as those of a \
                     histogram can"
                );
                return self.warn(WarningCause::Summary(name), LogLevel::Debug, text);
            }
            DeclaredKind::GaugeHistogram => {
                let text = format!("gauge histogram {name} is left out: gauges, counters and histograms are collected");
                return self.warn(WarningCause::GaugeHistogram(name), LogLevel::Warning, text);
            }
        };
        let samples = match kind {
            MetricKind::Histogram => self.histograms(family, &name).map(Samples::Histograms),
            _ => self.scalars(family, &name).map(Samples::Scalars),
        };
        if let Some(samples) = samples {
            let description = self.strings.share(&family.help);
            self.page.families.push(Family { name, kind, description, samples });
        }
    }

    fn scalars(&mut self, family: &DeclaredFamily<'_>, name: &Arc<str>) -> Option<Vec<ScalarSample>> {
        let samples = family.samples.iter().filter(|sample| sample.part != Part::Created);
        let mut kept: Vec<ScalarSample> = Vec::with_capacity(family.samples.len());
        let mut places: HashMap<&[Label<'_>], usize> = HashMap::new();
        let mut all_are_finite = true;
        for sample in samples {
            if !sample.value.is_finite() {
                all_are_finite = false;
                continue;
            }
            let labels = &self.labels[sample.labels.clone()];
            if family.samples.len() > 1 {
                match places.entry(labels) {
                    Entry::Occupied(place) => {
                        kept[*place.get()].value = sample.value;
                        continue;
                    }
                    Entry::Vacant(place) => place.insert(kept.len()),
                };
            }
            let labels = self.strings.share_labels(labels, kept.last().map(|neighbour| &neighbour.labels));
            kept.push(ScalarSample { labels, value: sample.value });
        }
        if !all_are_finite {
            self.warn_not_finite(name);
        }
        (!kept.is_empty()).then_some(kept)
    }

    fn histograms(&mut self, family: &DeclaredFamily<'_>, name: &Arc<str>) -> Option<Vec<HistogramSample>> {
        let mut groups = Groups::default();
        for sample in family.samples.iter().filter(|sample| sample.part != Part::Created) {
            groups.add(sample, &self.labels[sample.labels.clone()], self.strings);
        }
        if groups.groups.iter().any(|group| !group.is_finite) {
            self.warn_not_finite(name);
        }
        if let Some(bound) = groups.groups.iter().find_map(|group| group.bad_bound) {
            let text = format!(
                "histogram {name} has a bucket whose bound is not a number (le={bound:?}); histograms with such \
                 buckets are left out"
            );
            self.warn(WarningCause::BadBound(name.clone()), LogLevel::Warning, text);
        }
        let sound = groups.groups.into_iter().filter(|group| group.is_finite && group.bad_bound.is_none());
        let kept: Vec<HistogramSample> = sound.map(Group::finish).collect();
        (!kept.is_empty()).then_some(kept)
    }

    fn warn_not_finite(&mut self, name: &Arc<str>) {
        let text = format!("{name} has values that are NaN or infinite; they are left out");
        self.warn(WarningCause::NotFinite(name.clone()), LogLevel::Warning, text);
    }

    fn warn(&mut self, cause: WarningCause, level: LogLevel, text: String) {
        self.page.warnings.push(PageWarning { cause, level, text });
    }
}

/// The histograms of a family: samples whose labels are the same but for `le`.
#[derive(Default)]
struct Groups<'a> {
    groups: Vec<Group<'a>>,
    places: HashMap<&'a [Label<'a>], usize>,
    /// Samples of one histogram are mostly neighbours.
    last: Option<(&'a [Label<'a>], usize)>,
}

struct Group<'a> {
    sample: HistogramSample,
    is_finite: bool,
    bad_bound: Option<&'a str>,
}

impl<'a> Groups<'a> {
    fn add(&mut self, sample: &Sample, labels: &'a [Label<'a>], strings: &mut Strings) {
        let (labels, le) = match labels.split_last() {
            Some(((name, le), labels)) if name == "le" => (labels, &**le),
            _ => (labels, NO_BOUND),
        };
        let place = self.place_of(labels, strings);
        let (before, rest) = self.groups.split_at_mut(place);
        let group = &mut rest[0];
        group.is_finite &= sample.value.is_finite();
        match sample.part {
            Part::Sum => group.sample.sum = Some(sample.value),
            Part::Count => group.sample.count = Some(sample.value),
            _ => {
                // The histogram before has the same bounds, mostly; and those that are kept are numbers.
                let neighbour = before.last().and_then(|near| near.sample.buckets.get(group.sample.buckets.len()));
                let known = neighbour.map(|(near, _)| near).filter(|near| ***near == *le);
                match known {
                    Some(known) => group.sample.buckets.push((known.clone(), sample.value)),
                    None if is_bound(le) => group.sample.buckets.push((strings.share(le), sample.value)),
                    None => group.bad_bound = Some(le),
                }
            }
        }
    }

    fn place_of(&mut self, labels: &'a [Label<'a>], strings: &mut Strings) -> usize {
        if let Some((last, place)) = self.last
            && last == labels
        {
            return place;
        }
        let new = self.groups.len();
        let place = *self.places.entry(labels).or_insert(new);
        if place == new {
            let neighbour = self.groups.last();
            let labels = strings.share_labels(labels, neighbour.map(|near| &near.sample.labels));
            let buckets = Vec::with_capacity(neighbour.map_or(0, |near| near.sample.buckets.len()));
            let sample = HistogramSample { labels, buckets, sum: None, count: None };
            self.groups.push(Group { sample, is_finite: true, bad_bound: None });
        }
        self.last = Some((labels, place));
        place
    }
}

fn is_bound(le: &str) -> bool {
    le.parse::<f64>().is_ok_and(|bound| !bound.is_nan())
}

impl Group<'_> {
    fn finish(mut self) -> HistogramSample {
        keep_last_of_equal_bounds(&mut self.sample.buckets);
        self.sample
    }
}

/// A bucket stated twice has its first place and its last value. Equal bounds are one allocation.
fn keep_last_of_equal_bounds(buckets: &mut Vec<(Arc<str>, f64)>) {
    let address = |bound: &Arc<str>| bound.as_ptr();
    let mut places = HashMap::new();
    let has_equals = if buckets.len() <= 64 {
        let is_before = |(index, (le, _)): (usize, &(Arc<str>, f64))| {
            buckets[..index].iter().any(|(other, _)| address(other) == address(le))
        };
        buckets.iter().enumerate().any(is_before)
    } else {
        true
    };
    if !has_equals {
        return;
    }
    let mut kept: Vec<(Arc<str>, f64)> = Vec::with_capacity(buckets.len());
    for (le, count) in buckets.drain(..) {
        match places.entry(address(&le)) {
            Entry::Occupied(place) => kept[*place.get()] = (le, count),
            Entry::Vacant(place) => {
                place.insert(kept.len());
                kept.push((le, count));
            }
        }
    }
    *buckets = kept;
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    fn families(text: &str) -> Vec<(String, MetricKind, usize)> {
        let count = |samples: &Samples| match samples {
            Samples::Scalars(scalars) => scalars.len(),
            Samples::Histograms(histograms) => histograms.len(),
        };
        let page = read(text).unwrap();
        page.families.iter().map(|family| (family.name.to_string(), family.kind, count(&family.samples))).collect()
    }

    fn family(name: &str, kind: MetricKind, samples: usize) -> (String, MetricKind, usize) {
        (name.to_owned(), kind, samples)
    }

    fn causes(text: &str) -> Vec<(WarningCause, LogLevel)> {
        read(text).unwrap().warnings.into_iter().map(|warning| (warning.cause, warning.level)).collect()
    }

    #[test]
    fn both_conventions_name_a_counter_alike() {
        let expected = [family("c", MetricKind::Counter, 2)];
        assert_eq!(families("# TYPE c counter\nc_total{a=\"1\"} 1\nc_total{a=\"2\"} 1\nc_created 5\n"), expected);
        assert_eq!(families("# TYPE c_total counter\nc_total{a=\"1\"} 1\nc_total{a=\"2\"} 1\n"), expected);
        assert_eq!(families("# TYPE c counter\nc{a=\"1\"} 1\nc{a=\"2\"} 1\n"), expected);
    }

    #[test]
    fn a_counter_keeps_its_total_where_another_family_has_the_short_name() {
        let (gauge, counter) = (family("x", MetricKind::Gauge, 1), family("x_total", MetricKind::Counter, 1));
        assert_eq!(
            families("# TYPE x_total counter\nx_total 9\n# TYPE x gauge\nx 3\n"),
            [counter.clone(), gauge.clone()]
        );
        assert_eq!(families("# TYPE x gauge\nx 3\n# TYPE x_total counter\nx_total 9\n"), [gauge, counter.clone()]);
        // Also where the other one has no sample on this page: names must not change from page to page.
        assert_eq!(families("# TYPE x gauge\n# TYPE x_total counter\nx_total 9\n"), std::slice::from_ref(&counter));
        assert_eq!(
            families("x 3\n# TYPE x_total counter\nx_total 9\n"),
            [family("x", MetricKind::Unknown, 1), counter]
        );
    }

    #[test]
    fn infos_and_state_sets_are_unknown_and_infos_keep_their_samples_name() {
        let text = "# TYPE build info\nbuild_info{v=\"1\"} 1\n# TYPE st stateset\nst{st=\"a\"} 1\nst{st=\"b\"} 0\n";
        assert_eq!(
            families(text),
            [family("build_info", MetricKind::Unknown, 1), family("st", MetricKind::Unknown, 2)]
        );
        assert_eq!(families("# TYPE build info\nbuild 1\n"), [family("build", MetricKind::Unknown, 1)]);
        let both = "# TYPE b info\nb_info 1\n# TYPE b_info unknown\nb_info 1\n";
        assert_eq!(families(both), [family("b", MetricKind::Unknown, 1), family("b_info", MetricKind::Unknown, 1)]);
    }

    #[test]
    fn summaries_are_left_out_for_debuggers_to_see_and_gauge_histograms_with_a_warning() {
        let text = "# TYPE s summary\ns{quantile=\"0.5\"} 1\ns_sum 3\ns_count 2\ns_created 1\n\
                    # TYPE gh gaugehistogram\ngh_bucket{le=\"+Inf\"} 1\ngh_gcount 1\ngh_gsum 2\n";
        let page = read(text).unwrap();
        assert!(page.families.is_empty());
        let expected = [
            (WarningCause::Summary("s".into()), LogLevel::Debug),
            (WarningCause::GaugeHistogram("gh".into()), LogLevel::Warning),
        ];
        assert_eq!(causes(text), expected);
    }

    #[test]
    fn one_warning_covers_all_values_of_a_name_that_are_not_finite() {
        let text = "# TYPE g gauge\ng{a=\"1\"} NaN\ng{a=\"2\"} +Inf\ng{a=\"3\"} 1\n# TYPE k gauge\nk 1e999\n";
        assert_eq!(families(text), [family("g", MetricKind::Gauge, 1)]);
        let warned = |name: &str| (WarningCause::NotFinite(name.into()), LogLevel::Warning);
        assert_eq!(causes(text), [warned("g"), warned("k")]);
    }

    #[test]
    fn a_bad_bound_costs_its_histogram_alone() {
        let text = "# TYPE h histogram\nh_bucket{a=\"1\",le=\"x\"} 1\nh_sum{a=\"1\"} 1\nh_bucket{a=\"2\",le=\"1\"} 1\n\
                    # TYPE g gauge\ng 1\n";
        assert_eq!(families(text), [family("h", MetricKind::Histogram, 1), family("g", MetricKind::Gauge, 1)]);
        assert_eq!(causes(text), [(WarningCause::BadBound("h".into()), LogLevel::Warning)]);
    }

    #[test]
    fn buckets_of_interleaved_histograms_find_theirs_and_the_last_of_equal_bounds_counts() {
        let text = "# TYPE h histogram\nh_bucket{le=\"1\",a=\"x\"} 1\nh_bucket{a=\"y\",le=\"1\"} 2\n\
                    h_bucket{a=\"x\",le=\"+Inf\"} 3\nh_bucket{a=\"x\",le=\"1\"} 4\nh_count{a=\"y\"} 5\n";
        let page = read(text).unwrap();
        let Samples::Histograms(histograms) = &page.families[0].samples else { panic!("a histogram") };
        assert_eq!(histograms[0].buckets, [("1".into(), 4.0), ("+Inf".into(), 3.0)]);
        assert_eq!(histograms[1].buckets, [("1".into(), 2.0)]);
        assert_eq!((histograms[0].count, histograms[1].count), (None, Some(5.0)));
    }

    #[test]
    fn many_buckets_are_kept_in_order() {
        let lines: Vec<String> = (0..200).map(|n| format!("h_bucket{{le=\"{}\"}} {n}", n % 150)).collect();
        let page = read(&format!("# TYPE h histogram\n{}\n", lines.join("\n"))).unwrap();
        let Samples::Histograms(histograms) = &page.families[0].samples else { panic!("a histogram") };
        let buckets = &histograms[0].buckets;
        assert_eq!((buckets.len(), buckets[0].1, buckets[149].1), (150, 150.0, 149.0));
    }

    #[test]
    fn a_page_is_refused_only_when_it_has_lines_and_no_sample() {
        let reason = read("<html>\n<body>").unwrap_err().reason;
        assert!(reason.contains("does not begin with a metric name"), "{reason}");
        assert!(reason.contains("and 1 more; the page begins: <html> <body>"), "{reason}");
        assert!(read("# TYPE g weird").is_err());
        assert_eq!(read("# EOF\n").unwrap(), Page::default());
        assert_eq!(families("# TYPE g weird\n%%\ng 1\n"), [family("g", MetricKind::Unknown, 1)]);
        assert_eq!(causes("# TYPE g weird\n%%\ng 1\n"), [(WarningCause::BadLine, LogLevel::Warning)]);
    }
}
