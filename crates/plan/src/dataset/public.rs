//! Conversations of public datasets.

use super::{Distribution, TimestampWindow};
use aiperf_types::Nanos;
use serde::{Deserialize, Serialize};

/// Conversations of a public dataset, fetched by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublicPlan {
    pub set: PublicSet,
    /// The part of its repository that is used; `None` is the default one.
    pub subset: Option<String>,
    /// Which rows are used, by the values of their columns.
    pub filters: Vec<(String, String)>,
    /// The most conversations, if the user set a number.
    pub entries: Option<u64>,
    /// The most conversations that a run needs: no more are fetched of a streamed set.
    pub needed: Option<u64>,
    /// The requested output length if the data have none.
    pub osl: Option<Distribution>,
    /// Whether each request is sent at its own time, so that it is a conversation of its own.
    pub is_scheduled: bool,
    /// Timestamps that are used.
    pub window: TimestampWindow,
    /// The largest delay, in milliseconds.
    pub delay_cap_ms: Option<f64>,
    /// The time limit for fetching and reading it.
    pub timeout: Nanos,
}

/// Where conversations came from, for the results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Provenance {
    pub source_type: &'static str,
    pub loader: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hf_dataset_name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hf_split: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hf_subset: Option<String>,
    /// Set if the user asked for a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_dataset_entries: Option<u64>,
}

impl PublicPlan {
    pub fn provenance(&self) -> Provenance {
        let hub = if let PublicSource::Hub(hub) = self.set.source() { Some(hub) } else { None };
        let usual = hub.and_then(|hub| hub.subset).map(str::to_owned);
        Provenance {
            source_type: "public_dataset",
            loader: self.set.name(),
            hf_dataset_name: hub.map(|hub| hub.repo),
            hf_split: hub.map(|hub| hub.split),
            hf_subset: self.subset.clone().or(usual),
            num_dataset_entries: self.entries,
        }
    }

    /// The default time limit for fetching and reading.
    pub const TIMEOUT: Nanos = Nanos::from_millis(300_000);

    /// All of a set.
    pub fn new(set: PublicSet) -> Self {
        Self {
            set,
            subset: None,
            filters: Vec::new(),
            entries: None,
            needed: None,
            osl: None,
            is_scheduled: false,
            window: TimestampWindow::default(),
            delay_cap_ms: None,
            timeout: Self::TIMEOUT,
        }
    }
}

macro_rules! sets {
    ($($set:ident = $name:literal,)*) => {
        /// A public dataset.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum PublicSet {
            $(#[serde(rename = $name)] $set,)*
        }

        impl PublicSet {
            /// Every dataset, in the order of help.
            pub const ALL: &[Self] = &[$(Self::$set,)*];

            /// The name that users choose it by.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$set => $name,)*
                }
            }
        }
    };
}

sets! {
    ExgenticV2 = "exgentic_v2",
    Exgentic = "exgentic",
    ShareGpt = "sharegpt",
    Aimo = "aimo",
    MmStar = "mmstar",
    Mmvu = "mmvu",
    VisionArena = "vision_arena",
    LlavaOneVision = "llava_onevision",
    AimoAime = "aimo_aime",
    AimoNuminaCot = "aimo_numina_cot",
    AimoNumina15 = "aimo_numina_1_5",
    SpecBench = "spec_bench",
    SpecAlGsm8k = "spec_al_gsm8k",
    SpecAlMath500 = "spec_al_math500",
    SpecAlHumanEval = "spec_al_humaneval",
    SpecAlMbpp = "spec_al_mbpp",
    SpecAlMtBench = "spec_al_mtbench",
    InstructCoder = "instruct_coder",
    Blazedit5k = "blazedit_5k",
    Blazedit10k = "blazedit_10k",
    LibriSpeech = "librispeech",
    VoxPopuli = "voxpopuli",
    GigaSpeech = "gigaspeech",
    Ami = "ami",
    SpgiSpeech = "spgispeech",
}

impl PublicSet {
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|set| set.name() == name)
    }

    /// Where its rows are.
    pub const fn source(self) -> PublicSource {
        use PublicSource as From;
        match self {
            Self::ExgenticV2 => From::hub("Exgentic/agent-llm-traces-v2", "train")
                .at("4b8ad4ab198438e5a170f9171c19c6a2cf7c1814")
                .streamed(),
            Self::Exgentic => From::hub("Exgentic/agent-llm-traces", "train")
                .at("70036b93a04e61b0ea2706a68b962f4f26774587")
                .streamed(),
            Self::ShareGpt => From::Url {
                url: "https://huggingface.co/datasets/anon8231489123/ShareGPT_Vicuna_unfiltered/resolve/main/\
                      ShareGPT_V3_unfiltered_cleaned_split.json",
                file: "ShareGPT_V3_unfiltered_cleaned_split.json",
            },
            Self::Aimo => From::hub("AI-MO/NuminaMath-TIR", "train"),
            Self::MmStar => From::hub("Lin-Chen/MMStar", "val"),
            Self::Mmvu => From::hub("yale-nlp/MMVU", "validation"),
            Self::VisionArena => From::hub("lmarena-ai/VisionArena-Chat", "train").streamed(),
            Self::LlavaOneVision => From::hub("lmms-lab/LLaVA-OneVision-Data", "train").subset("sharegpt4o").streamed(),
            Self::AimoAime => From::hub("AI-MO/aimo-validation-aime", "train"),
            Self::AimoNuminaCot => From::hub("AI-MO/NuminaMath-CoT", "train"),
            Self::AimoNumina15 => From::hub("AI-MO/NuminaMath-1.5", "train"),
            Self::SpecBench => From::Url {
                url: "https://raw.githubusercontent.com/hemingkx/Spec-Bench/\
                      fd2c1cd7d2201ef71db4c5f4e455008f017967bf/data/spec_bench/question.jsonl",
                file: "spec_bench.jsonl",
            },
            Self::SpecAlGsm8k => From::hub("openai/gsm8k", "test").subset("main"),
            Self::SpecAlMath500 => From::hub("HuggingFaceH4/MATH-500", "test"),
            Self::SpecAlHumanEval => From::hub("openai/openai_humaneval", "test"),
            Self::SpecAlMbpp => From::hub("google-research-datasets/mbpp", "test").subset("full"),
            Self::SpecAlMtBench => From::hub("HuggingFaceH4/mt_bench_prompts", "train"),
            Self::InstructCoder => From::hub("likaixin/InstructCoder", "train"),
            Self::Blazedit5k => From::hub("vdaita/edit_5k_char", "train"),
            Self::Blazedit10k => From::hub("vdaita/edit_10k_char", "train"),
            Self::LibriSpeech => From::hub("openslr/librispeech_asr", "test").subset("clean").streamed(),
            Self::VoxPopuli => From::hub("facebook/voxpopuli", "test").subset("en").streamed(),
            Self::GigaSpeech => From::hub("speechcolab/gigaspeech", "test").subset("xs").streamed(),
            Self::Ami => From::hub("edinburghcstr/ami", "test").subset("ihm").streamed(),
            Self::SpgiSpeech => From::hub("kensho/spgispeech", "test").subset("test").streamed(),
        }
    }

    /// Whether its rows have the times of their requests.
    pub const fn has_times(self) -> bool {
        matches!(self, Self::Exgentic | Self::ExgenticV2)
    }
}

/// Where the rows of a set are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicSource {
    /// One file, and its name in the cache.
    Url {
        url: &'static str,
        file: &'static str,
    },
    Hub(HubSource),
}

/// A repository of the hub, and the part of it that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HubSource {
    pub repo: &'static str,
    pub revision: &'static str,
    pub subset: Option<&'static str>,
    pub split: &'static str,
    /// Whether only as much of it is fetched as a run needs.
    pub is_streamed: bool,
}

impl PublicSource {
    const fn hub(repo: &'static str, split: &'static str) -> Self {
        Self::Hub(HubSource { repo, revision: "main", subset: None, split, is_streamed: false })
    }

    const fn at(self, revision: &'static str) -> Self {
        match self {
            Self::Hub(hub) => Self::Hub(HubSource { revision, ..hub }),
            url @ Self::Url { .. } => url,
        }
    }

    const fn subset(self, subset: &'static str) -> Self {
        match self {
            Self::Hub(hub) => Self::Hub(HubSource { subset: Some(subset), ..hub }),
            url @ Self::Url { .. } => url,
        }
    }

    const fn streamed(self) -> Self {
        match self {
            Self::Hub(hub) => Self::Hub(HubSource { is_streamed: true, ..hub }),
            url @ Self::Url { .. } => url,
        }
    }
}
