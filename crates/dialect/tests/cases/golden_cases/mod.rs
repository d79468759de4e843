//! Golden data: every case of every file that looks like a kind known here, from this crate's folder or from
//! `$AIPERF_GOLDEN_DIR`.

mod control;
mod decided;
mod events;
mod inputs;
mod real_server;
mod requests;
mod responses;
mod shapes;

use aiperf_golden::cases::{Trial, test};

pub(crate) fn trials() -> Vec<Trial> {
    let kinds = [
        requests::golden_urls_are_joined(),
        requests::golden_requests_are_put_as_the_api_wants_them(),
        responses::golden_responses_are_read(),
        responses::golden_bodies_are_parsed_and_counted(),
        events::golden_event_streams_are_cut_into_messages(),
        events::golden_usage_objects_are_read(),
        inputs::golden_request_bodies_give_their_input_texts(),
        control::golden_probes_ask_for_one_token(),
        control::golden_lists_of_models_are_read(),
        control::golden_hooks_call_each_server_once(),
        real_server::golden_real_responses_are_read_with_their_usage(),
    ];
    let tests = [
        test(requests::credentials_end_before_the_host),
        test(requests::requests_to_a_socket_are_as_to_localhost),
        test(control::a_call_names_its_client_and_has_no_ids_of_requests),
    ];
    kinds.into_iter().flatten().chain(tests).collect()
}
