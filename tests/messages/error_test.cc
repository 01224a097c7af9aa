#include <boost/test/unit_test.hpp>

#include "messages/error.h"
#include "messages/values.h"
#include "tests/support/counting_new.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(error)

BOOST_AUTO_TEST_CASE(text_names_operation_peer_code_and_whether_it_ran) {
  Error error;
  error.code = ErrorCode::peer_down;
  error.message = "connection closed";
  error.peer = "ps0";
  error.operation = "rpc project";
  BOOST_TEST(error.text() == "rpc project on ps0: peer_down: connection closed (ran: maybe)");
  error.cause = "reset by peer";
  error.hint = "call again";
  BOOST_TEST(error.text() ==
             "rpc project on ps0: peer_down: connection closed (ran: maybe); because reset by peer; call again");
}

BOOST_AUTO_TEST_CASE(text_says_whether_it_ran_only_where_a_function_was_to_run) {
  Error error;
  error.code = ErrorCode::timeout;
  error.operation = "remote project";
  BOOST_TEST(error.text() == "remote project: timeout (ran: maybe)");
  for (const std::string operation : {"join", "publish \"net\"", "backward", "to_here"}) {
    error.operation = operation;
    BOOST_TEST(error.text() == operation + ": timeout");
  }
}

BOOST_AUTO_TEST_CASE(text_of_an_error_without_details_is_its_code) {
  Error error;
  error.execution = Execution::never;
  BOOST_TEST(error.text() == "internal");
}

BOOST_AUTO_TEST_CASE(every_code_has_a_name_and_numbers_are_stable) {
  for (std::uint16_t number = 1; number <= 31; ++number) {
    BOOST_TEST(name_of(static_cast<ErrorCode>(number)) != "unknown_code");
  }
  BOOST_TEST(name_of(static_cast<ErrorCode>(32)) == "unknown_code");
  BOOST_TEST(name_of(static_cast<ErrorCode>(19)) == "decode");
  BOOST_TEST(name_of(static_cast<ErrorCode>(30)) == "internal");
  BOOST_TEST(name_of(static_cast<ErrorCode>(31)) == "you_are_dead");
}

BOOST_AUTO_TEST_CASE(a_text_beyond_60_KiB_travels_cut_at_a_whole_character) {
  Error error;
  error.message =
      std::string(60 * 1024 - 1, 'x') + "\xC3\xA9" + "yz";  // the limit of 60 KiB lies between the two bytes of e-acute
  const auto [received] = from_payload<Error>(to_payload(nullptr, error));
  BOOST_TEST(received.message == std::string(60 * 1024 - 1, 'x') + " [4 more bytes]");
}

BOOST_AUTO_TEST_CASE(quotes_braces_escapes_and_newlines_in_a_text_survive) {
  Error error;
  error.message = "{} \"quoted\" \\n \n \x1b[0m %s";
  const auto [received] = from_payload<Error>(to_payload(nullptr, error));
  BOOST_TEST((received == error));
}

BOOST_AUTO_TEST_CASE(result_gives_its_value_or_throws_its_error) {
  const Result<int> good(3);
  BOOST_TEST(good.value() == 3);
  Error error;
  error.code = ErrorCode::timeout;
  const Result<int> bad(error);
  BOOST_TEST(!bad.ok());
  BOOST_CHECK_EXCEPTION(std::ignore = bad.value(), RemoteError,
                        [](const RemoteError& e) { return e.code() == ErrorCode::timeout; });
}

BOOST_AUTO_TEST_CASE(error_without_memory_keeps_its_code_and_whether_it_ran) {
  Error error;
  error.code = ErrorCode::peer_down;
  error.message = "a text that does not fit into the string itself";
  error.execution = Execution::never;
  std::shared_ptr<const Error> shared;
  {
    Error moved = error;
    const testing::RefusedAllocation refused(1);
    shared = shared_error(std::move(moved));
    BOOST_TEST(refused.happened());
  }
  Error copy;
  {
    const testing::RefusedAllocation refused(1);
    copy = copy_of(error);
  }
  for (const Error& told : {*shared, copy}) {
    BOOST_TEST((told.code == ErrorCode::peer_down));
    BOOST_TEST((told.execution == Execution::never));
    BOOST_TEST(told.message == "out of memory");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
