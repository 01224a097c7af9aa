#include "actors/calls/serve.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "actors/calls/function_table.h"
#include "actors/modules/module_class.h"
#include "actors/scope.h"
#include "actors/task.h"
#include "autograd/nn/module.h"
#include "messages/values.h"
#include "tensor/error.h"
#include "tensor/io/file_error.h"
#include "tests/actors/bare_peer.h"

namespace troupe::testing {
namespace {

std::int64_t served_next(std::int64_t x) { return x + 1; }
std::int64_t served_secret(std::int64_t x) { return x + 1000; }
std::int64_t served_unreadable(std::int64_t x) { throw DecodeError("row " + std::to_string(x) + " is no number"); }
std::int64_t served_large(std::int64_t bytes) {
  throw DeviceMemoryError("[allocate] " + std::to_string(bytes) + " bytes on cuda:0: out of memory");
}
std::int64_t served_save(std::int64_t number) {
  throw StorageFullError("[file] run/" + std::to_string(number) + ": No space left on device");
}
/// A value for which a device has no memory, neither where it is sent nor where it arrives.
struct TooLarge {
  template <class Archive>
  void save(Archive& /*ar*/) const {
    if constexpr (std::is_same_v<Archive, OutArchive>) served_large(4096);  // not where its type is described
  }
  template <class Archive>
  void load(Archive& /*ar*/) {
    served_large(8192);
  }
};
TooLarge served_answer() { return {}; }
std::int64_t served_argument(const TooLarge& /*value*/) { return 1; }
Task<std::int64_t> served_after_another(Scope& scope, std::int64_t x) {
  co_return co_await scope.rpc_async("p1", &served_next, x);
}
/// A module that needs at least one layer.
class ServedNet final : public nn::Layer {
 public:
  explicit ServedNet(std::int64_t layers) {
    if (layers < 1) throw DecodeError("a net of " + std::to_string(layers) + " layers");
  }
  Variable forward(const Variable& x) override { return x; }
};
constexpr auto served_net = module_class<ServedNet, std::int64_t>;

CallGrants only_next() {
  CallGrants grants;
  grants.allow("p1", {"next", "after another", "unreadable", "large", "save", "answer", "argument", "net"});
  return grants;
}

struct AmongCallers : AmongBarePeers {
  AmongCallers()
      : AmongBarePeers(0,
                       {{"next", &served_next},
                        {"secret", &served_secret},
                        {"after another", &served_after_another},
                        {"unreadable", &served_unreadable},
                        {"large", &served_large},
                        {"save", &served_save},
                        {"answer", &served_answer},
                        {"argument", &served_argument},
                        {"net", served_net}},
                       {}, only_next()) {}

  /// Asks for the function with the key of `key`, which the caller says has the name `name`.
  auto ask(BarePeer& caller, const std::string& key, const std::string& name,
           msg::Payload arguments = to_payload(nullptr, std::int64_t{1})) {
    msg::Call call;
    call.function = detail::function_key(key);
    call.function_name = name;
    call.fingerprint = core().functions().find(call.function)->fingerprint;
    call.arguments = std::move(arguments);
    return caller.ask("m", "worker", std::move(call));
  }

  /// Asks for the function with those arguments, and returns its error.
  Error error_of_call(BarePeer& caller, const std::string& key, msg::Payload arguments) {
    const auto answer = ask(caller, key, key, std::move(arguments));
    BOOST_REQUIRE(answer->has_value());
    BOOST_REQUIRE(!(*answer)->ok());
    return (*answer)->error();
  }

  /// Returns the outcome of such a call.
  std::string call(BarePeer& caller, const std::string& key, const std::string& name) {
    const auto answer = ask(caller, key, name);
    BOOST_REQUIRE(answer->has_value());
    if (!(*answer)->ok()) return (*answer)->error().message;
    const auto& reply = (*answer)->value().get<msg::Reply>();
    return std::to_string(std::get<0>(from_payload<std::int64_t>(reply.value)));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(serving_calls, AmongCallers)

BOOST_AUTO_TEST_CASE(a_grant_is_of_the_function_that_would_run_whatever_name_the_caller_says,
                     *boost::unit_test::label("attack")) {
  const auto p1 = peer("p1", 1);
  BOOST_TEST(call(*p1, "next", "next") == "2");
  BOOST_TEST(call(*p1, "next", "secret") == "2");
  BOOST_TEST(call(*p1, "secret", "next") == "p1 may not call \"secret\" of m");
}

// A caller that repeats what never ran would run it twice.
BOOST_AUTO_TEST_CASE(every_function_that_needs_no_grant_is_served) {
  BOOST_TEST_REQUIRE(!detail::functions_without_grants().empty());
  for (const std::string_view name : detail::functions_without_grants())
    BOOST_TEST((core().functions().find(detail::function_key(std::string(name))) != nullptr), name);
}

BOOST_AUTO_TEST_CASE(a_task_whose_next_part_the_pool_refuses_has_run) {
  const auto p1 = peer("p1", 1);
  const auto answer = ask(*p1, "after another", "after another");
  const auto inner = p1->take_heard<msg::Call>();
  BOOST_REQUIRE(inner.size() == 1U);
  pool->refuses = make_error(ErrorCode::resource_exhausted, "it is full");
  pool->refuses->execution = Execution::never;
  p1->answer("m", inner[0], msg::Reply{to_payload(nullptr, std::int64_t{2})});
  BOOST_REQUIRE(answer->has_value());
  BOOST_REQUIRE(!(*answer)->ok());
  BOOST_TEST(((*answer)->error().code == ErrorCode::resource_exhausted));
  BOOST_TEST(((*answer)->error().execution == Execution::yes));
}

// Only arguments that do not fit end in `decode`, and only then may a caller repeat what never ran.
BOOST_AUTO_TEST_CASE(a_function_that_throws_an_error_of_decoding_has_run) {
  const auto p1 = peer("p1", 1);
  const Error thrown = error_of_call(*p1, "unreadable", to_payload(nullptr, std::int64_t{1}));
  BOOST_TEST(thrown.text() == "rpc unreadable on m: remote_exception: row 1 is no number (ran: yes)");
  BOOST_TEST(thrown.exception_type == "troupe::DecodeError");
  const Error unfit = error_of_call(*p1, "next", to_payload(nullptr));
  BOOST_TEST((unfit.code == ErrorCode::decode));
  BOOST_TEST((unfit.execution == Execution::never));
}

BOOST_AUTO_TEST_CASE(a_function_for_which_a_device_has_no_memory_fails_with_a_code_of_its_own,
                     *boost::unit_test::label("fault-F20")) {
  const auto p1 = peer("p1", 1);
  const Error full = error_of_call(*p1, "large", to_payload(nullptr, std::int64_t{4096}));
  BOOST_TEST(full.text() ==
             "rpc large on m: device_out_of_memory: [allocate] 4096 bytes on cuda:0: out of memory (ran: yes)");
  const Error answer = error_of_call(*p1, "answer", to_payload(nullptr));
  BOOST_TEST(answer.text() ==
             "rpc answer on m: device_out_of_memory: [allocate] 4096 bytes on cuda:0: out of memory (ran: yes)");
  const Error argument = error_of_call(*p1, "argument", to_payload(nullptr));
  BOOST_TEST(argument.text() ==
             "rpc argument on m: device_out_of_memory: [allocate] 8192 bytes on cuda:0: out of memory (ran: never)");
  BOOST_TEST(call(*p1, "next", "next") == "2");
}

BOOST_AUTO_TEST_CASE(a_function_that_finds_the_disk_full_fails_with_a_code_of_its_own,
                     *boost::unit_test::label("fault-F19")) {
  const auto p1 = peer("p1", 1);
  const Error full = error_of_call(*p1, "save", to_payload(nullptr, std::int64_t{7}));
  BOOST_TEST(full.text() == "rpc save on m: storage_full: [file] run/7: No space left on device (ran: yes)");
}

BOOST_AUTO_TEST_CASE(a_module_whose_constructor_throws_has_run) {
  const auto p1 = peer("p1", 1);
  const Error thrown = error_of_call(*p1, "net", to_payload(nullptr, Device{}, std::int64_t{0}));
  BOOST_TEST(thrown.text() == "rpc net on m: remote_exception: a net of 0 layers (ran: yes)");
  const Error unfit = error_of_call(*p1, "net", to_payload(nullptr, Device{}));
  BOOST_TEST((unfit.code == ErrorCode::decode));
  BOOST_TEST((unfit.execution == Execution::never));
}

// The error for a value whose owner is gone has the reason of that as its cause, before any call failed.
BOOST_AUTO_TEST_CASE(the_death_of_an_owner_below_a_call_says_which_nodes_had_called) {
  const auto p1 = peer("p1", 1);
  Error died = make_error(ErrorCode::owner_died, "the owner of RRef ps1.7 is gone");
  died.peer = "ps1";
  died.cause = "peer_down: connection closed";
  const auto error_below = [&] {
    const auto answer = ask(*p1, "after another", "after another");
    const auto inner = p1->take_heard<msg::Call>();
    BOOST_REQUIRE(inner.size() == 1U);
    p1->answer("m", inner[0], msg::Failure{died});
    BOOST_REQUIRE(answer->has_value() && !(*answer)->ok());
    return (*answer)->error();
  };
  const std::string once = "the owner of RRef ps1.7 is gone: m had called it while it ran rpc after another for p1";
  died = error_below();
  BOOST_TEST(died.message == once);
  BOOST_TEST(died.cause == "peer_down: connection closed");
  died = error_below();
  BOOST_TEST(died.message == once + ", and m rpc after another for p1");
  BOOST_TEST(died.peer == "ps1");
}

BOOST_AUTO_TEST_CASE(a_text_of_fifty_megabytes_is_cut_for_the_log) {
  BOOST_TEST(detail::for_log("short") == "short");
  BOOST_TEST(detail::for_log(std::string(4096, 'b')) == std::string(4096, 'b'));
  const std::string line = detail::for_log(std::string(50'000'000, 'b'));
  BOOST_TEST(line == std::string(4096, 'b') + " [49995904 more bytes]");  // 50,000,000 - 4096
  BOOST_TEST(detail::for_log(std::string(4095, 'b') + "\xc3\xa9") == std::string(4095, 'b') + " [2 more bytes]");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
