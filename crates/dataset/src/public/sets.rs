//! Every set with its kind.

use aiperf_plan::PublicSet;

use super::exgentic::Exgentic;
use super::first_message::FirstMessage;
use super::kind::RowReader;
use super::prompt::{EDIT, Prompt};
use super::sharegpt::ShareGpt;
use super::speech::Speech;
use super::turns::Turns;
use super::video_question::VideoQuestion;

/// How the rows of a set are read.
pub(super) fn kind(set: PublicSet) -> &'static dyn RowReader {
    use PublicSet as Set;
    match set {
        Set::ExgenticV2 => &Exgentic { version: 2 },
        Set::Exgentic => &Exgentic { version: 1 },
        Set::ShareGpt => &ShareGpt,
        Set::Aimo | Set::AimoAime | Set::AimoNuminaCot | Set::AimoNumina15 => const { &Prompt::of("problem") },
        Set::MmStar => &Prompt { column: "question", image: Some("image"), template: None },
        Set::Mmvu => &VideoQuestion,
        Set::VisionArena => &FirstMessage { column: "conversation", content: "content", image: "images" },
        Set::LlavaOneVision => &FirstMessage { column: "conversations", content: "value", image: "image" },
        Set::SpecBench => &Turns { column: "turns", first_only: true },
        Set::SpecAlGsm8k => const { &Prompt::of("question") },
        Set::SpecAlMath500 => const { &Prompt::of("problem") },
        Set::SpecAlHumanEval => const { &Prompt::of("prompt") },
        Set::SpecAlMbpp => const { &Prompt::of("text") },
        Set::SpecAlMtBench => &Turns { column: "prompt", first_only: false },
        Set::InstructCoder => const { &Prompt::of("instruction") },
        Set::Blazedit5k | Set::Blazedit10k => &Prompt { column: "change_request", image: None, template: Some(EDIT) },
        Set::LibriSpeech | Set::VoxPopuli | Set::GigaSpeech | Set::Ami | Set::SpgiSpeech => &Speech,
    }
}
