//! Files of a hub over TLS: fetched, resumed, verified, shared.

use aiperf_campaign::hub::{Hub, HubError, HubSettings, RepoKind};
use aiperf_testkit::fake_hub::{COMMIT, FakeHub, Faults, HubFile, git_blob, sha256};
use aiperf_transport::{
    AddressChoice, ConnectSettings, Fetcher, Outstanding, ProxyChoice, Resolution, SocketOptions, TlsSettings, Trust,
};
use std::fs;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

fn large() -> Vec<u8> {
    (0..300_000_u32).flat_map(u32::to_le_bytes).collect()
}

fn files() -> Vec<HubFile> {
    let small = |path, text: &str| HubFile { repo: "org/tiny", path, bytes: text.into(), is_large: false };
    vec![
        small("tokenizer_config.json", "{}"),
        small("empty.txt", ""),
        HubFile { repo: "org/tiny", path: "tokenizer.json", bytes: large(), is_large: true },
        HubFile { repo: "org/set", path: "data/a.jsonl", bytes: b"{}\n".to_vec(), is_large: false },
    ]
}

struct HubSetup {
    folder: TempDir,
    hub: FakeHub,
}

impl HubSetup {
    fn new(faults: Faults) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hub = FakeHub::start(folder.path(), files(), faults);
        Self { folder, hub }
    }

    fn client(&self, more: &[(&str, &str)]) -> Hub {
        let cache = self.cache();
        let vars = [("HF_ENDPOINT", self.hub.endpoint.as_str()), ("HF_HUB_CACHE", cache.to_str().unwrap())];
        let var = |name: &str| {
            more.iter().chain(&vars).find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        let mut settings = HubSettings::from_vars(var).unwrap();
        settings.patience.pause = Duration::from_millis(1);
        Hub::new(settings, fetcher(Trust::File(self.hub.ca_file.clone())))
    }

    fn cache(&self) -> std::path::PathBuf {
        self.folder.path().join("cache")
    }
}

fn fetcher(trust: Trust) -> Fetcher {
    Fetcher::new(ConnectSettings {
        socket: SocketOptions {
            recv_buffer: 1 << 20,
            send_buffer: 1 << 20,
            keep_idle: 60,
            keep_interval: 30,
            keep_count: 1,
            user_timeout_ms: 0,
        },
        resolution: Resolution { addresses: AddressChoice::V4, believed: None },
        tls: Arc::new(TlsSettings::new(trust, false)),
        proxies: ProxyChoice::default(),
        outstanding: Outstanding::up_to(8),
    })
}

#[test]
fn files_land_in_the_cache_as_hugging_face_lays_it_out() {
    let place = HubSetup::new(Faults::default());
    let hub = place.client(&[("HF_TOKEN", "hf_secret")]);
    let small = hub.file(RepoKind::Model, "org/tiny", "main", "tokenizer_config.json").unwrap();
    let big = hub.file(RepoKind::Model, "org/tiny", "main", "tokenizer.json").unwrap();
    let entry = place.cache().join("models--org--tiny");
    assert_eq!(fs::read_to_string(entry.join("refs/main")).unwrap(), COMMIT);
    assert_eq!(small, entry.join("snapshots").join(COMMIT).join("tokenizer_config.json"));
    assert_eq!(fs::read_link(&small).unwrap().to_str().unwrap(), format!("../../blobs/{}", git_blob(b"{}")));
    assert_eq!(fs::read_link(&big).unwrap().to_str().unwrap(), format!("../../blobs/{}", sha256(&large())));
    assert_eq!(fs::read(&big).unwrap(), large());
    let empty = hub.file(RepoKind::Model, "org/tiny", "main", "empty.txt").unwrap();
    assert_eq!(fs::read(empty).unwrap(), b"");
    let set = hub.file(RepoKind::Dataset, "org/set", COMMIT, "data/a.jsonl").unwrap();
    assert_eq!(set, place.cache().join("datasets--org--set/snapshots").join(COMMIT).join("data/a.jsonl"));
    assert_eq!(fs::read(&set).unwrap(), b"{}\n");
    let has_token = |head: &String| head.contains("hf_secret");
    assert!(place.hub.requests().iter().any(has_token));
    assert!(
        !place.hub.elsewhere().is_empty() && !place.hub.elsewhere().iter().any(has_token),
        "elsewhere has no token"
    );
}

#[test]
fn cached_files_are_used_without_a_request_and_offline() {
    let place = HubSetup::new(Faults::default());
    let first = place.client(&[]).file(RepoKind::Model, "org/tiny", "main", "tokenizer.json").unwrap();
    let asked = place.hub.requests().len();
    let offline = place.client(&[("HF_HUB_OFFLINE", "1")]);
    assert_eq!(offline.file(RepoKind::Model, "org/tiny", "main", "tokenizer.json").unwrap(), first);
    let missing = offline.file(RepoKind::Model, "org/tiny", "main", "tokenizer_config.json").unwrap_err();
    assert_eq!(missing.title(), "Offline - Files Not Cached");
    assert!(missing.to_string().contains("(revision 'main') is not present in the HuggingFace cache"), "{missing}");
    assert_eq!(place.hub.requests().len(), asked);
    let online = place.client(&[("HF_HUB_OFFLINE", "0")]);
    assert!(online.file(RepoKind::Model, "org/tiny", "main", "tokenizer_config.json").is_ok());
}

#[test]
fn an_interrupted_download_is_resumed() {
    let place = HubSetup::new(Faults { cuts: vec![400_000, 100, 300_000], ..Faults::default() });
    let file = place.client(&[]).file(RepoKind::Model, "org/tiny", "main", "tokenizer.json").unwrap();
    assert_eq!(fs::read(file).unwrap(), large());
    let asked = place.hub.elsewhere();
    assert_eq!(asked.len(), 4, "{asked:?}");
    assert!(asked[0].contains("Range: bytes=0-") && !asked[1].contains("Range: bytes=0-"), "{asked:?}");
    assert!(asked[3].contains("If-Range: \"of-elsewhere\""), "{}", asked[3]);
}

#[test]
fn a_partial_file_of_an_earlier_process_is_resumed() {
    let place = HubSetup::new(Faults::default());
    let blobs = place.cache().join("models--org--tiny/blobs");
    fs::create_dir_all(&blobs).unwrap();
    let name = format!("{}.incomplete", sha256(&large()));
    fs::write(blobs.join(&name), &large()[..1_000_000]).unwrap();
    let file = place.client(&[]).file(RepoKind::Model, "org/tiny", "main", "tokenizer.json").unwrap();
    assert_eq!(fs::read(file).unwrap(), large());
    assert!(place.hub.elsewhere()[0].contains("Range: bytes=1000000-"));
    assert!(!blobs.join(&name).exists());
}

#[test]
fn a_file_with_another_hash_is_fetched_once_more_and_then_refused() {
    let place = HubSetup::new(Faults { is_corrupt: true, ..Faults::default() });
    let wrong = place.client(&[]).file(RepoKind::Model, "org/tiny", "main", "tokenizer.json").unwrap_err();
    assert!(matches!(wrong, HubError::Corrupt { .. }) && wrong.to_string().contains("its hash is"), "{wrong}");
    assert_eq!(place.hub.elsewhere().len(), 2);
    assert_eq!(fs::read_dir(place.cache().join("models--org--tiny/blobs")).unwrap().count(), 0);
    // A partial file of an earlier process may be wrong: the rest of a good file does not make it good.
    place.hub.faults.lock().unwrap().is_corrupt = false;
    let name = format!("{}.incomplete", sha256(&large()));
    fs::write(place.cache().join("models--org--tiny/blobs").join(name), vec![b'y'; 1_000]).unwrap();
    let file = place.client(&[]).file(RepoKind::Model, "org/tiny", "main", "tokenizer.json").unwrap();
    assert_eq!(fs::read(file).unwrap(), large());
}

#[test]
fn an_expired_url_is_requested_again() {
    let place = HubSetup::new(Faults { expired: 2, ..Faults::default() });
    let file = place.client(&[]).file(RepoKind::Model, "org/tiny", "main", "tokenizer.json").unwrap();
    assert_eq!(fs::read(file).unwrap(), large());
}

#[test]
fn several_threads_fetch_a_file_only_once() {
    let place = HubSetup::new(Faults::default());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| place.client(&[]).file(RepoKind::Model, "org/tiny", "main", "tokenizer.json").unwrap());
        }
    });
    assert_eq!(place.hub.elsewhere().len(), 1);
}

#[test]
fn refusals_have_a_reason_and_a_fix() {
    for (refusal, title, words) in [
        (("401 Unauthorized", "GatedRepo"), "Gated Repository", "accept them at"),
        (("401 Unauthorized", ""), "Repository Not Found", "HF_TOKEN"),
        (("404 Not Found", "RepoNotFound"), "Repository Not Found", "full id"),
        (("404 Not Found", "RevisionNotFound"), "Invalid Git Revision", "no revision 'main'"),
        (("404 Not Found", "EntryNotFound"), "Missing Tokenizer Files", "no file 'x.json'"),
        (("503 Service Unavailable", ""), "HuggingFace Hub Error", "returned 503"),
    ] {
        let place = HubSetup::new(Faults { refusal: Some(refusal), ..Faults::default() });
        let error = place.client(&[]).file(RepoKind::Model, "org/tiny", "main", "x.json").unwrap_err();
        assert_eq!(error.title(), title, "{refusal:?}");
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    let place = HubSetup::new(Faults::default());
    let stranger = Hub::new(place.client(&[]).settings().clone(), fetcher(Trust::System));
    let error = stranger.file(RepoKind::Model, "org/tiny", "main", "tokenizer.json").unwrap_err();
    assert!(matches!(error, HubError::Network { .. }), "{error}");
}

#[test]
fn a_token_that_a_hub_echoes_is_in_no_message() {
    for refusal in [("401 hf_secret_123", "GatedRepo"), ("403 hf_secret_123", ""), ("410 hf_secret_123", "")] {
        let place = HubSetup::new(Faults { refusal: Some(refusal), ..Faults::default() });
        let hub = place.client(&[("HF_TOKEN", "hf_secret_123")]);
        let asked = [
            hub.file(RepoKind::Model, "org/tiny", "main", "x.json").unwrap_err(),
            hub.list(RepoKind::Model, "org/tiny", "main").unwrap_err(),
        ];
        for error in asked {
            let shown = format!("{error} {error:?}");
            assert!(shown.contains("<redacted>") && !shown.contains("hf_secret_123"), "{shown}");
        }
    }
}

#[test]
fn a_short_name_means_the_most_downloaded_model_and_an_ambiguous_one_is_refused() {
    let place = HubSetup::new(Faults::default());
    let hub = place.client(&[]);
    assert_eq!(hub.find_model("org/tiny").unwrap(), "org/tiny");
    assert_eq!(hub.find_model("tiny").unwrap(), "org/tiny");
    let vague = hub.find_model("tin").unwrap_err();
    assert!(vague.to_string().contains("org/tiny (1.2M downloads)"), "{vague}");
}

#[test]
fn the_wanted_files_of_a_repository_are_fetched_together() {
    let place = HubSetup::new(Faults::default());
    let hub = place.client(&[]);
    let listed = hub.list(RepoKind::Model, "org/tiny", "main").unwrap();
    assert_eq!((listed.commit.as_str(), listed.files.len()), (COMMIT, 3));
    let brought = hub.files(RepoKind::Model, "org/tiny", "main", |path| path.ends_with(".json")).unwrap();
    assert_eq!(brought.len(), 2);
    let folder = hub.cached_folder(RepoKind::Model, "org/tiny", "main").unwrap();
    assert!(folder.join("tokenizer.json").is_file());
}

#[test]
fn a_url_is_fetched_once_and_resumed_after_an_interruption() {
    let place = HubSetup::new(Faults { cuts: vec![400_000], ..Faults::default() });
    let url = format!("{}/cdn/{}", place.hub.endpoint, sha256(&large()));
    let file = place.folder.path().join("sets/large.bin");
    assert_eq!(place.client(&[]).url(&url, &file).unwrap(), file);
    assert_eq!(fs::read(&file).unwrap(), large());
    assert_eq!(place.hub.elsewhere().len(), 2);
    place.client(&[("HF_HUB_OFFLINE", "1")]).url(&url, &file).unwrap();
    assert_eq!(place.hub.elsewhere().len(), 2, "an existing file is not requested");
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn a_url_that_fails_leaves_no_file_and_names_its_path() {
    let place = HubSetup::new(Faults { refusal: Some(("404 Not Found", "")), ..Faults::default() });
    let url = format!("{}/cdn/x", place.hub.endpoint);
    let file = place.folder.path().join("sets/x.json");
    let error = place.client(&[]).url(&url, &file).unwrap_err().to_string();
    assert!(error.contains(&url) && error.contains("404") && error.contains("put it at"), "{error}");
    assert!(error.contains(file.to_str().unwrap()) && !file.exists());
    let offline = place.client(&[("HF_HUB_OFFLINE", "1")]).url(&url, &file).unwrap_err().to_string();
    assert!(offline.contains("HF_HUB_OFFLINE"), "{offline}");
    let strange = place.client(&[]).url("ftp://x/y", &file).unwrap_err().to_string();
    assert!(strange.contains("no http:// or https:// URL"), "{strange}");
}

#[test]
fn a_hub_that_never_responds_times_out() {
    let place = HubSetup::new(Faults { is_silent: true, ..Faults::default() });
    let hub = place.client(&[]).within(Duration::from_millis(50));
    let late = hub.file(RepoKind::Model, "org/tiny", "main", "tokenizer.json").unwrap_err();
    assert_eq!(late.title(), "Network Timeout");
    assert!(!late.to_string().contains("is kept"), "{late}");
    let stopped = place.client(&[]).stopped_by(|| true).within(Duration::from_secs(60));
    let stopped = stopped.file(RepoKind::Model, "org/tiny", "main", "tokenizer.json").unwrap_err();
    assert!(matches!(stopped, HubError::Stopped), "{stopped}");
}

#[test]
fn progress_is_reported_with_the_total_length() {
    let place = HubSetup::new(Faults::default());
    let reported = Arc::new(std::sync::Mutex::new(Vec::new()));
    let report = reported.clone();
    let hub = place.client(&[]).with_progress(move |path, done, total| {
        report.lock().unwrap().push((path.to_owned(), done, total));
    });
    hub.file(RepoKind::Model, "org/tiny", "main", "tokenizer.json").unwrap();
    let all = large().len() as u64;
    assert_eq!(reported.lock().unwrap().last(), Some(&("tokenizer.json".to_owned(), all, Some(all))));
}
