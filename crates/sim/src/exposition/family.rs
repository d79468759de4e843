//! The content of a page, for any kind of server: families of samples.

use std::borrow::Cow;

use crate::metrics::{Bucket, Histogram};

/// The type that a family declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyType {
    Gauge,
    Counter,
    Histogram,
}

impl FamilyType {
    pub(crate) const ALL: [FamilyType; 3] = [FamilyType::Gauge, FamilyType::Counter, FamilyType::Histogram];

    /// The word of `# TYPE` lines.
    pub(crate) fn name(self) -> &'static str {
        match self {
            FamilyType::Gauge => "gauge",
            FamilyType::Counter => "counter",
            FamilyType::Histogram => "histogram",
        }
    }
}

pub(crate) type Label = (&'static str, Cow<'static, str>);

/// The buckets and the sum of one histogram.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Distribution {
    pub(crate) buckets: Vec<Bucket>,
    pub(crate) sum: f64,
}

impl Distribution {
    /// In another unit: `factor` of it are one of the histogram's.
    pub(crate) fn scaled(histogram: &Histogram, factor: f64) -> Self {
        let buckets = histogram.buckets().map(|bucket| Bucket {
            bound: bucket.bound * factor,
            latest: bucket.latest.map(|value| value * factor),
            ..bucket
        });
        Distribution { buckets: buckets.collect(), sum: histogram.sum() * factor }
    }

    /// One bucket for everything.
    fn of_number(value: f64) -> Self {
        let everything = Bucket { bound: f64::INFINITY, cumulative: value as u64, latest: None };
        Distribution { buckets: vec![everything], sum: value }
    }

    pub(crate) fn count(&self) -> u64 {
        self.buckets.last().map_or(0, |bucket| bucket.cumulative)
    }
}

impl From<&Histogram> for Distribution {
    fn from(histogram: &Histogram) -> Self {
        Distribution { buckets: histogram.buckets().collect(), sum: histogram.sum() }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Number(f64),
    Distribution(Distribution),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    /// In the order in which they are written.
    pub(crate) labels: Vec<Label>,
    pub(crate) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Family {
    /// Without the `_total` that samples of counters may have.
    pub(crate) name: &'static str,
    pub(crate) kind: FamilyType,
    pub(crate) help: &'static str,
    /// Since when it counts, where the server reports it: seconds since the epoch.
    pub(crate) created: Option<f64>,
    pub(crate) samples: Vec<Sample>,
}

impl Family {
    /// Changes its type, with values that such a type can have.
    pub(crate) fn become_type(&mut self, kind: FamilyType) {
        self.kind = kind;
        for Sample { value, .. } in &mut self.samples {
            *value = match (&*value, kind) {
                (Value::Number(number), FamilyType::Histogram) => Value::Distribution(Distribution::of_number(*number)),
                (Value::Distribution(distribution), FamilyType::Gauge | FamilyType::Counter) => {
                    Value::Number(distribution.count() as f64)
                }
                (value, _) => value.clone(),
            };
        }
    }
}

/// The families of a page under construction.
pub(crate) struct Families {
    labels: Vec<Label>,
    created: Option<f64>,
    pub(crate) list: Vec<Family>,
}

impl Families {
    /// With labels that every sample has, and the moment since which counters and histograms count.
    pub(crate) fn new(labels: Vec<Label>, created: Option<f64>) -> Self {
        Families { labels, created, list: Vec::with_capacity(48) }
    }

    /// Families from here on have these labels.
    pub(crate) fn relabel(&mut self, labels: Vec<Label>) {
        self.labels = labels;
    }

    pub(crate) fn gauge(&mut self, name: &'static str, help: &'static str, value: f64) {
        self.labelled(FamilyType::Gauge, name, help, [(vec![], Value::Number(value))]);
    }

    pub(crate) fn counter(&mut self, name: &'static str, help: &'static str, value: f64) {
        self.labelled(FamilyType::Counter, name, help, [(vec![], Value::Number(value))]);
    }

    pub(crate) fn histogram(&mut self, name: &'static str, help: &'static str, value: impl Into<Distribution>) {
        self.labelled(FamilyType::Histogram, name, help, [(vec![], Value::Distribution(value.into()))]);
    }

    /// A family whose samples differ by one label.
    pub(crate) fn by_label<const N: usize>(
        &mut self,
        kind: FamilyType,
        name: &'static str,
        help: &'static str,
        label: &'static str,
        values: [(&'static str, f64); N],
    ) {
        let samples = values.map(|(value, number)| (vec![(label, Cow::Borrowed(value))], Value::Number(number)));
        self.labelled(kind, name, help, samples);
    }

    /// A family whose samples have further labels.
    pub(crate) fn labelled(
        &mut self,
        kind: FamilyType,
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = (Vec<Label>, Value)>,
    ) {
        let samples = samples
            .into_iter()
            .map(|(further, value)| {
                let mut labels = [self.labels.clone(), further].concat();
                labels.sort_by_key(|(name, _)| *name);
                Sample { labels, value }
            })
            .collect();
        let created = self.created.filter(|_| kind != FamilyType::Gauge);
        self.list.push(Family { name, kind, help, created, samples });
    }
}
