//! Pages of DCGM exporters, for collection.

use super::dcgm::Dcgm;
use super::reading::GpuScrape;
use super::store::GpuStore;
use crate::collection::{FetchedPage, PageKind, ReadPage, Words};
use aiperf_plan::redact::Redactor;
use aiperf_types::{RunEvent, SourceKind, WallNs};
use std::sync::Arc;

/// Appends the content of a page as lines.
pub type EncodeGpus = fn(&mut Vec<u8>, &GpuScrape);

/// How pages of GPUs are read.
pub struct GpuPages {
    pub dcgm: Dcgm,
    pub encode: EncodeGpus,
    /// A live consumer wants them while the run is on.
    pub is_watched: bool,
    /// Secrets that an exporter may echo.
    pub redactor: Arc<Redactor>,
}

const WORDS: Words = Words {
    subject: SourceKind::GpuTelemetry,
    title: "GPU telemetry",
    off: "--no-gpu-telemetry",
    sources: "telemetry source(s)",
    threads: ["aiperf-gpus", "aiperf-gpu-keep", "aiperf-gpu-page"],
    wait_limit: "AIPERF_GPU_FINAL_SCRAPE_GRACE_NS",
    flush: "",
    last_failed: "energy of the last moments may be missing",
    none_reached: |missing| {
        format!(
            "DCGM telemetry skipped: no telemetry sources reachable ({missing}). See what is there: curl -i \
             http://HOST:9400/metrics; to look for none: --no-gpu-telemetry"
        )
    },
};

impl PageKind for GpuPages {
    type Content = GpuScrape;
    type Reader = ();
    type Store = GpuStore;
    const WORDS: &'static Words = &WORDS;
    /// The page of a DCGM exporter is at the given URL.
    const LOOKS_ELSEWHERE: bool = false;

    fn read(&self, (): &mut (), page: &FetchedPage) -> ReadPage<GpuScrape> {
        let read = match self.dcgm.read_hiding(&page.text, &self.redactor) {
            Err(incompatible) => return ReadPage { content: Err(incompatible.reason), ..ReadPage::default() },
            Ok(read) => read,
        };
        let mut line = Vec::new();
        let scrape = (!read.readings.is_empty()).then(|| GpuScrape {
            source: page.url.clone(),
            at: page.times.at,
            readings: read.readings,
            table: self.dcgm.table().clone(),
        });
        scrape.iter().for_each(|scrape| (self.encode)(&mut line, scrape));
        ReadPage { content: Ok(scrape), warnings: read.warnings, line }
    }

    fn store(&self) -> GpuStore {
        if self.is_watched { GpuStore::watched() } else { GpuStore::default() }
    }

    fn keep(store: &mut GpuStore, page: &FetchedPage, scrape: GpuScrape, _is_duplicate: bool) -> Vec<String> {
        // Equal texts are samples like others: an idle GPU reports the same each time.
        if page.is_between_boundaries { store.offer(&scrape) } else { store.add(&scrape) }
    }

    fn live(store: &mut GpuStore, _profiling: Option<WallNs>) -> Option<RunEvent> {
        store.changed().map(|snapshot| RunEvent::GpuMetrics(Arc::new(snapshot)))
    }
}
