//! How the process behaves, how tokens are counted, and how responses are graded.

use crate::choice::choices;
use crate::range::{at_least, between};
use crate::setting::{List, section};
use aiperf_plan::{LogLevel, Timestamps, UiKind, WorkerPriority};

choices! {
    /// Communication between processes.
    CommunicationKind {
        Ipc = "ipc",
        Tcp = "tcp",
        Dual = "dual",
    }
    /// Tasks of an accuracy run.
    AccuracyBenchmark {
        Mmlu = "mmlu",
        MmluPro = "mmlu_pro",
        Aime = "aime",
        Hellaswag = "hellaswag",
        Bigbench = "bigbench",
        Aime24 = "aime24",
        Aime25 = "aime25",
        Math500 = "math_500",
        Gsm8k = "gsm8k",
        GpqaDiamond = "gpqa_diamond",
        LcbCodegeneration = "lcb_codegeneration",
    }
    /// Grader of responses.
    Grader {
        ExactMatch = "exact_match",
        Math = "math",
        MultipleChoice = "multiple_choice",
        CodeExecution = "code_execution",
        LightevalExpr = "lighteval_expr",
        LightevalLatex = "lighteval_latex",
        LightevalGpqa = "lighteval_gpqa",
        LightevalGsm8k = "lighteval_gsm8k",
        MmluPro = "mmlu_pro",
    }
}

section! {
    /// What counts tokens.
    Tokenizer {
        /// Tokenizer id or path; builtin means offline o200k_base
        name: String;
        /// Tokenizer branch, tag or commit
        revision: String = "main";
        /// Permit custom tokenizer code from the repository
        trust_remote_code: bool = false;
        /// Count input tokens including the chat template wrapper
        apply_chat_template: bool = false;
    }
    /// How the process behaves.
    Runtime {
        /// What the screen shows
        ui: UiKind;
        /// Number of worker threads; without it, it follows the load
        workers: i64 [at_least(1.0)];
        /// Minimum number of workers
        workers_min: i64 [at_least(1.0)];
        /// Timestamp of received data: the kernel's arrival time (auto: if available) or the time when the read returned
        timestamps: Timestamps = Timestamps::Auto;
        /// Priority of the threads that send and read; auto: real-time if the system allows it
        worker_priority: WorkerPriority = WorkerPriority::Auto;
        /// Number of record processors
        record_processors: i64 [at_least(1.0)];
        /// How services run; no effect here
        service_run_type: String;
        /// Communication between processes; no effect here
        communication: Communication;
        /// Port of the live HTTP/WebSocket API; if the port is in use, the run does not start
        api_port: i64 [between(1.0, true, 65535.0, true)];
        /// Name or address that the live API listens on, 127.0.0.1 by default; needs a port
        api_host: String;
        /// Seconds between live statistics: in the dashboard's table (5 by default), otherwise in the log; 0 logs none
        stats_interval: f64 [between(0.0, true, 1000.0, true)];
        /// Workers per pod; cluster deployments only
        workers_per_pod: i64 [at_least(1.0)];
        /// Record processors per pod; cluster deployments only
        record_processors_per_pod: i64 [at_least(1.0)];
        /// Where pods get the dataset; cluster deployments only
        dataset_api_base_url: String;
    }
    /// Communication between processes; no effect here.
    Communication {
        /// Kind of communication
        r#type: CommunicationKind;
        /// Address
        host: String;
        /// Socket directory
        path: String;
    }
    /// What is logged.
    Logging {
        /// Minimum level
        level: LogLevel = LogLevel::Info;
    }
    /// No settings.
    Metrics {}
    /// Grading of responses.
    Accuracy {
        /// Benchmark tasks
        benchmark: AccuracyBenchmark;
        /// Subset of benchmark tasks
        tasks: List<String>;
        /// Few-shot examples; default set by the benchmark
        n_shots: i64 [between(0.0, true, 32.0, true)];
        /// Chain-of-thought prompting on or off; default set by the benchmark
        enable_cot: bool;
        /// Replaces the benchmark's grader
        grader: Grader;
        /// Replaces the benchmark's system prompt
        system_prompt: String;
        /// Show each graded problem
        verbose: bool = false;
    }
}
