//! Pages of servers, from their text to scrapes.

use super::kind::{FetchedPage, PageKind, ReadPage, Words};
use crate::exposition::Reader;
use crate::scrape::{Family, Labels, Samples, Scrape};
use crate::snapshot::snapshot;
use crate::store::Store;
use aiperf_plan::redact::Redactor;
use aiperf_types::{RunEvent, WallNs};
use std::borrow::Cow;
use std::sync::Arc;

/// Puts a scrape into a line, appended.
pub type EncodeLine = fn(&mut Vec<u8>, &Scrape);

/// How pages of servers are read.
pub struct ServerPages {
    /// Makes the lines that [`Collector::write_to`](super::Collector::write_to) writes; `None`: none are written.
    pub encode: Option<EncodeLine>,
    /// What a server may say back and nobody may read.
    pub redactor: Arc<Redactor>,
}

const WORDS: Words = Words {
    subject: "server metrics",
    title: "Server metrics",
    off: "--no-server-metrics",
    sources: "endpoint(s)",
    threads: ["aiperf-scrape", "aiperf-series", "aiperf-pages"],
    wait_limit: "AIPERF_SERVER_METRICS_SCRAPE_TIMEOUT",
    flush: "AIPERF_SERVER_METRICS_COLLECTION_FLUSH_PERIOD",
    last_failed: "final counters and histograms may be undercounted",
    nobody: |missing| {
        format!(
            "Server metrics are off: no Prometheus endpoint answers ({missing}). See what is there: curl -i \
             BASE/metrics; where it is elsewhere, say so: --server-metrics http://HOST:8002/metrics (Triton's port); to \
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

/// A server that echoes a request in a help text or a label says its secrets too.
fn hide_secrets(families: &mut [Family], redactor: &Redactor) {
    let hide = |text: &mut Arc<str>| {
        if let Cow::Owned(hidden) = redactor.hide(text) {
            *text = hidden.into();
        }
    };
    for family in families {
        hide(&mut family.description);
        let labels: Box<dyn Iterator<Item = &mut Labels>> = match &mut family.samples {
            Samples::Scalars(samples) => Box::new(samples.iter_mut().map(|sample| &mut sample.labels)),
            Samples::Histograms(samples) => Box::new(samples.iter_mut().map(|sample| &mut sample.labels)),
        };
        labels.flatten().for_each(|(_, value)| hide(value));
    }
}
