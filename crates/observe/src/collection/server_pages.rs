//! Pages of servers, from text to scrapes.

use super::kind::{FetchedPage, PageKind, ReadPage, Words};
use crate::exposition::Reader;
use crate::scrape::{Family, Labels, Samples, Scrape};
use crate::snapshot::snapshot;
use crate::store::Store;
use aiperf_plan::redact::Redactor;
use aiperf_types::{RunEvent, SourceKind, WallNs};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Appends a scrape as a line.
pub type EncodeLine = fn(&mut Vec<u8>, &Scrape);

/// How pages of servers are read.
pub struct ServerPages {
    /// Makes the lines that [`Collector::write_to`](super::Collector::write_to) writes; `None`: none are written.
    pub encode: Option<EncodeLine>,
    /// Secrets that a server may echo.
    pub redactor: Arc<Redactor>,
}

const WORDS: Words = Words {
    subject: SourceKind::ServerMetrics,
    title: "Server metrics",
    off: "--no-server-metrics",
    sources: "endpoint(s)",
    threads: ["aiperf-scrape", "aiperf-series", "aiperf-pages"],
    wait_limit: "AIPERF_SERVER_METRICS_SCRAPE_TIMEOUT",
    flush: "AIPERF_SERVER_METRICS_COLLECTION_FLUSH_PERIOD",
    last_failed: "final counters and histograms may be undercounted",
    none_reached: |missing| {
        format!(
            "Server metrics are off: no Prometheus endpoint responds ({missing}). See what is there: curl -i \
             BASE/metrics; if it is elsewhere: --server-metrics http://HOST:8002/metrics (Triton's port); to \
             look for none: --no-server-metrics"
        )
    },
};

impl PageKind for ServerPages {
    type Content = Scrape;
    type Reader = Reader;
    type Store = Store;
    const WORDS: &'static Words = &WORDS;
    const LOOKS_ELSEWHERE: bool = true;

    fn read(&self, reader: &mut Reader, page: &FetchedPage) -> ReadPage<Scrape> {
        let mut read = match reader.read_hiding(&page.text, &self.redactor) {
            Err(incompatible) => return ReadPage { content: Err(incompatible.reason), ..ReadPage::default() },
            Ok(read) => read,
        };
        hide_secrets(&mut read.families, &self.redactor);
        let mut line = Vec::new();
        let scrape = (!read.families.is_empty()).then(|| Scrape {
            endpoint_url: page.url.clone(),
            times: page.times,
            phase: page.phase.clone(),
            is_duplicate: false,
            families: read.families,
        });
        if let (Some(encode), Some(scrape)) = (self.encode, &scrape) {
            encode(&mut line, scrape);
        }
        ReadPage { content: Ok(scrape), warnings: read.warnings, line }
    }

    fn store(&self) -> Store {
        Store::default()
    }

    fn keep(store: &mut Store, page: &FetchedPage, mut scrape: Scrape, is_duplicate: bool) -> Vec<String> {
        scrape.is_duplicate = is_duplicate;
        let is_left_out = page.is_between_boundaries && store.is_full();
        let warnings = if is_left_out { Vec::new() } else { store.add(scrape) };
        warnings.iter().map(ToString::to_string).collect()
    }

    fn live(store: &mut Store, profiling: Option<WallNs>) -> Option<RunEvent> {
        profiling.map(|start| RunEvent::ServerMetrics(Arc::new(snapshot(store, start))))
    }
}

/// A server may echo secrets of a request in a help text, a label or a name.
fn hide_secrets(families: &mut [Family], redactor: &Redactor) {
    if redactor.is_empty() {
        return;
    }
    let hide = |text: &mut Arc<str>| {
        if let Cow::Owned(hidden) = redactor.hide(text) {
            *text = hidden.into();
        }
    };
    let mut names = HiddenNames { redactor, known: HashMap::new() };
    for index in 0..families.len() {
        let (others, rest) = families.split_at_mut(index);
        let family = &mut rest[0];
        if let Some(hidden) = names.of(&family.name) {
            let is_taken = |name: &str| others.iter().any(|other| other.kind == family.kind && *other.name == *name);
            family.name = free(hidden, is_taken);
        }
        hide(&mut family.description);
        let labels: Box<dyn Iterator<Item = &mut Labels>> = match &mut family.samples {
            Samples::Scalars(samples) => Box::new(samples.iter_mut().map(|sample| &mut sample.labels)),
            Samples::Histograms(samples) => Box::new(samples.iter_mut().map(|sample| &mut sample.labels)),
        };
        for labels in labels {
            labels.iter_mut().for_each(|(_, value)| hide(value));
            hide_label_names(labels, &mut names);
        }
    }
}

fn hide_label_names(labels: &mut Labels, names: &mut HiddenNames<'_>) {
    let mut is_changed = false;
    for index in 0..labels.len() {
        if let Some(hidden) = names.of(&labels[index].0) {
            labels[index].0 = free(hidden, |name| labels.iter().any(|(other, _)| **other == *name));
            is_changed = true;
        }
    }
    if is_changed {
        labels.sort_by(|(a, _), (b, _)| a.cmp(b));
    }
}

/// The names of one page, each checked once: a page has few names, and many samples.
struct HiddenNames<'r> {
    redactor: &'r Redactor,
    known: HashMap<Arc<str>, Option<Arc<str>>>,
}

impl HiddenNames<'_> {
    /// The replacement of a name, if it contains a secret.
    fn of(&mut self, name: &Arc<str>) -> Option<Arc<str>> {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let hidden: Option<Arc<str>> = self.redactor.hide_in_name(name).map(Into::into);
        self.known.insert(name.clone(), hidden.clone());
        hidden
    }
}

/// The name, with the first number from 2 on that makes it unique: two names may differ only in the secret.
fn free(name: Arc<str>, is_taken: impl Fn(&str) -> bool) -> Arc<str> {
    if !is_taken(&name) {
        return name;
    }
    let mut numbered = (2_u64..).map(|number| format!("{name}_{number}"));
    numbered.find(|name| !is_taken(name)).map_or_else(|| name.clone(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposition::read;

    fn hidden(text: &str, secrets: &[&str]) -> Vec<Family> {
        let mut families = read(text).unwrap().families;
        hide_secrets(&mut families, &Redactor::new(secrets.iter().map(|secret| (*secret).to_owned())));
        families
    }

    #[test]
    fn a_secret_that_is_the_name_of_a_metric_or_of_a_label_is_hidden() {
        let text = "# TYPE a_skSecret123 gauge\na_skSecret123{x=\"1\"} 1\n# TYPE a_SKSECRET123 gauge\na_SKSECRET123 2\n\
                    # TYPE g gauge\ng{z=\"1\",skSecret123=\"2\",sksecret123=\"key skSecret123\"} 3\n";
        let families = hidden(text, &["skSecret123"]);
        let names: Vec<&str> = families.iter().map(|family| &*family.name).collect();
        assert_eq!(names, ["a_<redacted>", "a_<redacted>_2", "g"]);
        let Samples::Scalars(samples) = &families[2].samples else { panic!("a gauge") };
        let labels: Vec<(&str, &str)> = samples[0].labels.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(labels, [("<redacted>", "2"), ("<redacted>_2", "key <redacted>"), ("z", "1")]);
    }

    #[test]
    fn a_key_that_is_a_word_leaves_the_names_of_metrics_alone() {
        let text = "# TYPE vllm:requests gauge\nvllm:requests{vllm=\"1\"} 1\n";
        assert_eq!(hidden(text, &["vllm", "EMPTY"]), read(text).unwrap().families);
    }
}
