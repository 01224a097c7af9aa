// What nodes write in their audit logs while others attack them.
#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "actors/function_registry.h"
#include "node/audit/audit_chain.h"
#include "node/audit/audit_command.h"
#include "node/keys/key_directory.h"
#include "node/keys/word_lines.h"
#include "node/node.h"
#include "tests/node/joining/keyed_options.h"
#include "tests/process/attacks/flood.h"
#include "tests/support/temporary_directory.h"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using boost::unit_test::label;
using Json = nlohmann::json;

const std::vector<NodeName> kMembers{"a", "b", "c"};

std::int64_t cube(std::int64_t x) { return x * x * x; }
std::int64_t secret_number() { return 7; }

/// A cluster over TCP on this machine with keys, each of whose nodes keeps an audit log.
struct AuditedRun {
  const ClusterSecret secret = ClusterSecret::random();
  const std::vector<KeyRing> rings = make_run_keys(kMembers);
  const FunctionRegistry functions{{"cube", &cube}, {"secret_number", &secret_number}};
  const TemporaryDirectory directory;

  [[nodiscard]] fs::path log_of(std::string_view name) const {
    return directory.path() / fmt::format("{}.audit", name);
  }

  [[nodiscard]] NodeOptions options(std::size_t place, const std::string& seed = {}) const {
    NodeOptions options = testing::keyed_options("audited", secret, rings[place], seed);
    options.audit_log = log_of(options.name).string();
    return options;
  }
  [[nodiscard]] Node join(const NodeOptions& options) const { return Node::join(options, functions); }

  [[nodiscard]] std::vector<Json> lines_of(std::string_view name) const {
    std::vector<Json> lines;
    std::ifstream in(log_of(name));
    for (std::string line; std::getline(in, line) && !in.eof();) lines.push_back(Json::parse(line));
    return lines;
  }

  /// Waits for a line of `event` whose reason begins so, and returns it.
  [[nodiscard]] Json wait_for(std::string_view name, std::string_view event, std::string_view reason = "") const {
    const auto due = std::chrono::steady_clock::now() + 10s;
    while (std::chrono::steady_clock::now() < due) {
      for (const Json& line : lines_of(name)) {
        if (line["event"] == event && line.value("reason", "").starts_with(reason)) return line;
      }
      std::this_thread::yield();
    }
    for (const Json& line : lines_of(name)) BOOST_TEST_MESSAGE(line.dump());
    BOOST_FAIL(fmt::format("{} has no line \"{}\" of \"{}\"", name, event, reason));
    return {};
  }
};

BOOST_AUTO_TEST_SUITE(audit)

BOOST_AUTO_TEST_CASE(a_node_writes_down_that_it_refused_a_key_and_from_where, *label("attack") * label("S14")) {
  const AuditedRun run;
  {
    const Node a = run.join(run.options(0));
    const Flood stranger(Flood::Kind::client, a.address(), run.rings[0].own_keys().public_key(), ::geteuid());
    const Json line = run.wait_for("a", "refused", "no member has its key");
    BOOST_TEST(line["address"] == "127.0.0.1");
    BOOST_TEST(!stranger.was_let_in());
  }
  BOOST_TEST(run.lines_of("a").front()["event"] == "opened");
  BOOST_TEST(run.lines_of("a").back()["event"] == "closed");
  BOOST_TEST(verify_audit({run.log_of("a")}) == 0);
}

BOOST_AUTO_TEST_CASE(nodes_write_down_who_comes_goes_and_calls_what_it_may_not,
                     *label("attack") * label("S14") * label("fault-F40")) {
  const AuditedRun run;
  {
    NodeOptions guarded = run.options(0);
    guarded.call_grants.allow("b", {"cube"});
    const Node a = run.join(guarded);
    {
      Node b = run.join(run.options(1, a.address()));
      BOOST_TEST(b.rpc_sync("a", &cube, std::int64_t{3}) == 27);
      BOOST_CHECK_THROW(static_cast<void>(b.rpc_sync("a", &secret_number)), RemoteError);
      const Json joined = run.wait_for("a", "joined");
      BOOST_TEST(joined["peer"] == "b");
      BOOST_TEST(joined["address"] == b.address());
      const Json denied = run.wait_for("a", "denied", "not_authorized: b may not call \"secret_number\"");
      BOOST_TEST(denied["peer"] == "b");
      b.stop();
    }
    BOOST_TEST(run.wait_for("a", "left")["peer"] == "b");
  }
  for (const std::string_view name : {"a", "b"}) BOOST_TEST(verify_audit({run.log_of(name)}) == 0);
}

/// Returns `lines` with a whole chain, and without those of refusals: what an intruder would leave behind.
std::string without_refusals(const std::vector<Json>& lines) {
  std::string text;
  AuditHash before{};
  std::uint64_t number = 0;
  for (Json line : lines) {
    if (line["event"] == "refused") continue;
    line["number"] = ++number;
    line["prev"] = detail::hex_of(before);
    before = audit_hash(line.dump());
    text += line.dump() + "\n";
  }
  return text;
}

BOOST_AUTO_TEST_CASE(whoever_writes_a_nodes_log_anew_is_found_out_by_what_its_peer_knows,
                     *label("attack") * label("S14")) {
  const AuditedRun run;
  {
    Node a = run.join(run.options(0));
    Node b = run.join(run.options(1, a.address()));
    const Flood stranger(Flood::Kind::client, a.address(), run.rings[0].own_keys().public_key(), ::geteuid());
    const std::uint64_t refused = run.wait_for("a", "refused", "no member has its key")["number"];
    a.stop();  // tells the last line
    const auto due = std::chrono::steady_clock::now() + 10s;
    const auto knows = [&](const Json& line) { return line["event"] == "head" && line["line"] >= refused; };
    while (std::ranges::none_of(run.lines_of("b"), knows) && std::chrono::steady_clock::now() < due)
      std::this_thread::yield();
  }
  BOOST_TEST(run.wait_for("b", "head")["peer"] == "a");
  BOOST_TEST(verify_audit({run.directory.path().string()}) == 0);
  const std::string anew = without_refusals(run.lines_of("a"));
  std::ofstream(run.log_of("a")) << anew;
  BOOST_TEST(verify_audit({run.log_of("a")}) == 0);
  BOOST_TEST(verify_audit({run.directory.path().string()}) == 1);
}

BOOST_AUTO_TEST_CASE(a_member_of_another_cluster_or_with_another_secret_is_written_down,
                     *label("attack") * label("S14")) {
  const AuditedRun run;
  const Node a = run.join(run.options(0));
  NodeOptions other_cluster = run.options(1, a.address());
  other_cluster.cluster_id = "another\n\x1b[2J";
  other_cluster.join_deadline = 3s;
  BOOST_CHECK_THROW(static_cast<void>(run.join(other_cluster)), RemoteError);
  BOOST_TEST(run.wait_for("a", "refused", "not_joined")["reason"] ==
             R"(not_joined: b belongs to another cluster than "audited")");
  NodeOptions other_secret = run.options(2, a.address());
  other_secret.secret = ClusterSecret::random();
  other_secret.join_deadline = 3s;
  BOOST_CHECK_THROW(static_cast<void>(run.join(other_secret)), RemoteError);
  // Each side proves the secret to the other: c finds out first, and says so.
  static_cast<void>(run.wait_for("a", "refused", "auth_failed"));
}

BOOST_AUTO_TEST_CASE(a_newer_list_of_members_and_the_key_that_it_takes_out_are_written_down,
                     *label("attack") * label("S14") * label("S12")) {
  const TemporaryDirectory directory;
  KeyDirectory made = KeyDirectory::make((directory.path() / "keys").string());
  made.add(kMembers, std::nullopt);
  const FunctionRegistry functions{{"cube", &cube}};
  const AuditedRun logs;
  const auto options_of = [&](const NodeName& name, const std::string& seed = {}) {
    NodeOptions with_files;
    with_files.use_key_files(made.key_path(name));
    with_files.seed = seed;
    with_files.world_size = 0;
    with_files.join_deadline = 10s;
    with_files.audit_log = logs.log_of(name).string();
    return with_files;
  };
  const Node a = Node::join(options_of("a"), functions);
  const Node b = Node::join(options_of("b", a.address()), functions);
  made.revoke({"b"});
  BOOST_TEST(logs.wait_for("a", "keys_changed")["reason"].get<std::string>().starts_with("list of members 3"));
  BOOST_TEST(logs.wait_for("a", "left", "peer_down: its key is not in the list")["peer"] == "b");
}

BOOST_AUTO_TEST_CASE(a_node_does_not_start_where_its_log_cannot_be_kept, *label("attack") * label("S14")) {
  const AuditedRun run;
  fs::create_symlink(run.directory.path() / "elsewhere", run.log_of("a"));
  try {
    const Node a = run.join(run.options(0));
    BOOST_FAIL("joined");
  } catch (const RemoteError& error) {
    BOOST_TEST(error.error().message ==
               fmt::format("cannot keep an audit log in {}: it is a symbolic link", run.log_of("a").string()));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
