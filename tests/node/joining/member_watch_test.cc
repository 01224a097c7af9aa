// Nodes whose keys lie in files: who is in changes while they run.
#include "node/joining/member_watch.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "actors/calls/listed_grants.h"
#include "actors/core/node_core.h"
#include "actors/function_registry.h"
#include "node/keys/key_directory.h"
#include "node/keys/key_files.h"
#include "node/launch/reserved_port.h"
#include "node/node.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/support/temporary_directory.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;

const std::vector<NodeName> kListed{"a", "b", "c"};

std::int64_t square_of(std::int64_t x) { return x * x; }
Tensor twice(Tensor x) { return x + x; }

BOOST_AUTO_TEST_SUITE(member_watch)

/// A cluster whose keys lie in files.
struct KeyFiles {
  KeyFiles() : made(KeyDirectory::make((directory.path() / "keys").string())) { made.add(kListed, std::nullopt); }
  [[nodiscard]] NodeOptions options(const NodeName& name, const std::string& seed = {}) const {
    NodeOptions options;
    options.use_key_files(made.key_path(name));
    options.seed = seed;
    options.world_size = 0;
    options.join_deadline = 10s;
    return options;
  }
  const FunctionRegistry functions{{"square", &square_of}};
  testing::TemporaryDirectory directory;
  KeyDirectory made;
};

BOOST_AUTO_TEST_CASE(nodes_with_key_files_are_one_cluster, *label("S11")) {
  const KeyFiles files;
  const Node a = Node::join(files.options("a"), files.functions);
  const Node b = Node::join(files.options("b", a.address()), files.functions);
  BOOST_TEST(a.name() == "a");
  BOOST_TEST(b.rpc_sync("a", &square_of, std::int64_t{3}) == 9);
  BOOST_TEST(a.rpc_sync("b", &square_of, std::int64_t{4}) == 16);
}

BOOST_AUTO_TEST_CASE(a_node_with_a_key_that_was_replaced_does_not_get_in, *label("attack") * label("S11")) {
  KeyFiles files;
  const NodeOptions old = files.options("b");  // with the list of serial 2, as somebody who kept it
  files.made.rotate({"b"}, std::nullopt);
  const Node a = Node::join(files.options("a"), files.functions);
  NodeOptions with_old_key = old;
  with_old_key.seed = a.address();
  with_old_key.join_deadline = 3s;
  try {
    const Node b = Node::join(with_old_key, files.functions);
    BOOST_FAIL("joined");
  } catch (const RemoteError& error) {
    BOOST_TEST((error.code() == ErrorCode::auth_failed), error.what());
  }
  const Node b = Node::join(files.options("b", a.address()), files.functions);
  BOOST_TEST(b.rpc_sync("a", &square_of, std::int64_t{3}) == 9);
}

/// Waits until `node` knows of `count` members that are up.
void wait_until_up(const Node& node, std::size_t count) {
  const auto due = std::chrono::steady_clock::now() + 10s;
  while (node.members().size() != count && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST(node.members().size() == count);
}

// What a kubelet does with the first pod.
BOOST_AUTO_TEST_CASE(a_first_node_that_starts_again_joins_those_that_live_on) {
  const KeyFiles files;
  const detail::ReservedPort port = detail::reserve_port("127.0.0.1", 0);
  const std::string seed = "tcp://localhost:" + port.number;  // a name, as that of a pod
  const auto options_of = [&](const NodeName& name) {
    NodeOptions options = files.options(name, name == "a" ? "" : seed);
    if (name == "a") options.bind = "tcp://127.0.0.1:" + port.number;
    options.world_size = 3;
    return options;
  };
  const auto join = [&](const NodeName& name) {
    return std::async(std::launch::async, [&, name] { return Node::join(options_of(name), files.functions); });
  };
  std::optional<Node> b;
  std::optional<Node> c;
  {
    auto first = join("a");
    auto second = join("b");
    auto third = join("c");
    b.emplace(second.get());
    c.emplace(third.get());
    const Node a = first.get();
  }
  wait_until_up(*b, 2);
  c.reset();
  auto again = join("c");  // asks the first node that has not been let in itself
  const Node a = join("a").get();
  c.emplace(again.get());
  wait_until_up(*b, 3);
  BOOST_TEST(a.rpc_sync("b", &square_of, std::int64_t{3}) == 9);
  BOOST_TEST(c->rpc_sync("a", &square_of, std::int64_t{4}) == 16);
}

BOOST_AUTO_TEST_CASE(members_come_and_go_with_the_list_while_others_call_each_other,
                     *label("attack") * label("S12") * label("fault-F47")) {
  KeyFiles files;
  const Node a = Node::join(files.options("a"), files.functions);
  const Node b = Node::join(files.options("b", a.address()), files.functions);
  const Node c = Node::join(files.options("c", a.address()), files.functions);
  wait_until_up(a, 3);

  std::atomic<bool> done = false;
  std::atomic<int> failures = 0;
  std::thread load([&] {
    for (std::int64_t i = 0; !done; ++i) failures += b.rpc_sync("a", &square_of, i) != i * i;
  });
  files.made.revoke({"c"});
  files.made.add({"d"}, std::nullopt);
  wait_until_up(a, 2);
  wait_until_up(b, 2);
  BOOST_CHECK_THROW((void)c.rpc_sync("a", &square_of, std::int64_t{3}), RemoteError);
  const Node d = Node::join(files.options("d", a.address()), files.functions);
  BOOST_TEST(d.rpc_sync("a", &square_of, std::int64_t{5}) == 25);
  wait_until_up(b, 3);
  BOOST_TEST(b.rpc_sync("d", &square_of, std::int64_t{6}) == 36);
  done = true;
  load.join();
  BOOST_TEST(failures == 0);
}

/// Returns the hint of the refusal of a call from `from` to `to`; empty if it may call.
std::string refusal_of_call(const Node& from, const NodeName& to) {
  try {
    BOOST_TEST(from.rpc_sync(to, &square_of, std::int64_t{3}) == 9);
    return {};
  } catch (const RemoteError& error) {
    BOOST_TEST((error.code() == ErrorCode::not_authorized), error.what());
    return error.error().hint;
  }
}

BOOST_AUTO_TEST_CASE(the_signed_list_says_what_a_member_may_call, *label("attack") * label("S6")) {
  KeyFiles files;
  files.made.grant({"c"}, std::vector<std::string>{"cube", "sq*"});
  NodeOptions own = files.options("a");
  own.call_grants.allow("*", {"square"});
  const Node a = Node::join(own, files.functions);
  const Node b = Node::join(files.options("b", a.address()), files.functions);
  const Node c = Node::join(files.options("c", a.address()), files.functions);
  wait_until_up(c, 3);
  BOOST_TEST(refusal_of_call(b, "a").empty());
  BOOST_TEST(refusal_of_call(c, "a").empty());
  BOOST_TEST(refusal_of_call(c, "b").empty());

  files.made.grant({"c"}, std::vector<std::string>{"cube"});
  const auto due = std::chrono::steady_clock::now() + 10s;
  while (refusal_of_call(c, "b").empty() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  const std::string by_list = "the list of members does not grant it: its signer can, with `troupe keys grant`";
  BOOST_TEST(refusal_of_call(c, "b") == by_list);
  BOOST_TEST(refusal_of_call(b, "c").empty());
  BOOST_TEST(c.rpc_sync("c", &square_of, std::int64_t{3}) == 9);  // its own calls need no grant

  files.made.grant({"c"}, std::nullopt);
  while (!refusal_of_call(c, "b").empty() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST(refusal_of_call(c, "b").empty());
}

BOOST_AUTO_TEST_CASE(what_a_member_may_call_is_known_at_the_start, *label("attack") * label("S6")) {
  KeyFiles files;
  files.made.grant({"b"}, std::vector<std::string>{});
  const Node a = Node::join(files.options("a"), files.functions);
  const Node b = Node::join(files.options("b", a.address()), files.functions);
  BOOST_TEST(!refusal_of_call(b, "a").empty());
  BOOST_TEST(refusal_of_call(a, "b").empty());
}

/// Returns the hint of the refusal of `use`; empty if it is not refused.
template <class Use>
std::string refusal_of(const Use& use) {
  try {
    use();
    return {};
  } catch (const RemoteError& error) {
    BOOST_TEST((error.code() == ErrorCode::not_authorized), error.what());
    return error.error().hint;
  }
}

BOOST_AUTO_TEST_CASE(the_signed_list_says_who_makes_values_on_others_and_who_reads_theirs,
                     *label("attack") * label("S6")) {
  KeyFiles files;
  const auto withhold = [&files](const NodeName& name, bool owns, bool reads) {
    files.made.grant({name}, [&](MemberList::Grants& grants) {
      grants.owns = owns;
      grants.reads = reads;
    });
  };
  withhold("b", false, true);
  withhold("c", true, false);
  const Node a = Node::join(files.options("a"), files.functions);
  const Node b = Node::join(files.options("b", a.address()), files.functions);
  const Node c = Node::join(files.options("c", a.address()), files.functions);
  wait_until_up(b, 3);
  wait_until_up(c, 3);
  static_cast<void>(a.publish<std::int64_t>("seven", 7));
  const auto make = [](const Node& node) {
    return refusal_of([&node] { node.remote("a", &square_of, std::int64_t{3}).created(node).get(); });
  };
  const auto read = [](const Node& node) {
    return refusal_of([&node] { BOOST_TEST(node.find<std::int64_t>("a", "seven").to_here(node) == 7); });
  };
  const std::string by_list = "the list of members withholds `";
  BOOST_TEST(make(b) == by_list + "owns`: its signer grants it with `troupe keys grant b --owns \"*\"`");
  BOOST_TEST(read(b).empty());
  BOOST_TEST(make(c).empty());
  BOOST_TEST(read(c) == by_list + "reads`: its signer grants it with `troupe keys grant c --reads \"*\"`");
  BOOST_TEST(refusal_of_call(b, "a").empty());
  BOOST_TEST(refusal_of_call(c, "a").empty());

  withhold("b", true, true);
  withhold("c", false, true);
  const auto due = std::chrono::steady_clock::now() + 10s;
  while (!make(b).empty() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  while (make(c).empty() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST(make(b).empty());
  BOOST_TEST(!make(c).empty());
  BOOST_TEST(read(c).empty());
}

BOOST_AUTO_TEST_CASE(who_is_not_in_the_list_any_more_may_do_nothing, *label("attack") * label("S6") * label("S12")) {
  KeyFiles files;
  files.made.grant({"c"}, [](MemberList::Grants& grants) { grants.owns = false; });
  const Node a = Node::join(files.options("a"), files.functions);
  const Node c = Node::join(files.options("c", a.address()), files.functions);
  BOOST_TEST(refusal_of_call(c, "a").empty());
  files.made.revoke({"c"});
  const auto& listed = a.core().listed_grants();
  const auto due = std::chrono::steady_clock::now() + 10s;
  while (listed.may_call("c", "square") && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST(!listed.may_call("c", "square"));
  BOOST_TEST(!listed.has("c", detail::ValueRight::owns));
  BOOST_TEST(!listed.has("c", detail::ValueRight::reads));
  BOOST_TEST(listed.may_call("b", "square"));
  files.made.revoke({"b"});
  while (listed.may_call("b", "square") && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST(!listed.may_call("b", "square"));
  BOOST_TEST(!listed.may_call("c", "square"));  // after a second list, too: its connection may still be there
}

/// A cluster whose nodes each have a directory of their own, as on machines of their own.
struct Machines : KeyFiles {
  Machines() {
    for (const NodeName& name : kListed) {
      std::filesystem::create_directories(place(name));
      std::filesystem::permissions(place(name), std::filesystem::perms::owner_all);
      std::filesystem::copy_file(made.key_path(name), place(name) / (name + ".key"));
      bring_list_to(name);
    }
  }
  [[nodiscard]] std::filesystem::path place(const NodeName& name) const { return directory.path() / name; }
  [[nodiscard]] std::string key_of(const NodeName& name) const { return (place(name) / (name + ".key")).string(); }
  void bring_list_to(const NodeName& name) const {
    std::filesystem::copy_file(made.list_path(), place(name) / "new");
    std::filesystem::rename(place(name) / "new", place(name) / "cluster.members");
  }
  [[nodiscard]] NodeOptions with(const NodeName& name, const std::string& seed = {}) const {
    NodeOptions options;
    options.use_key_files(key_of(name));
    options.seed = seed;
    options.world_size = 0;
    options.join_deadline = 10s;
    options.liveness.lease = 2s;
    return options;
  }
  [[nodiscard]] Node join(const NodeName& name, const std::string& seed = {}) const {
    return Node::join(with(name, seed), functions);
  }
};

BOOST_AUTO_TEST_CASE(a_list_that_one_machine_gets_counts_on_all, *label("attack") * label("S11") * label("S12")) {
  Machines machines;
  const Node a = machines.join("a");
  auto b = std::make_unique<Node>(machines.join("b", a.address()));
  const Node c = machines.join("c", a.address());
  wait_until_up(a, 3);
  wait_until_up(*b, 3);
  machines.made.revoke({"c"});
  machines.bring_list_to("b");
  wait_until_up(a, 2);
  wait_until_up(*b, 2);
  BOOST_CHECK_THROW((void)c.rpc_sync("a", &square_of, std::int64_t{3}), RemoteError);
  BOOST_TEST(b->rpc_sync("a", &square_of, std::int64_t{4}) == 16);

  const auto serial_at = [&](const NodeName& name) {
    return NodeKeys::load(machines.key_of(name), {}, std::chrono::system_clock::now()).value().serial;
  };
  const auto due = std::chrono::steady_clock::now() + 10s;  // a writes it when it looks at its files
  while (serial_at("a") != serial_at("b") && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST(serial_at("a") == serial_at("b"));
}

BOOST_AUTO_TEST_CASE(a_node_that_was_away_hears_of_the_newer_list, *label("S11")) {
  Machines machines;
  machines.made.add({"d"}, std::nullopt);
  machines.bring_list_to("a");
  const Node a = machines.join("a");
  const Node b = machines.join("b", a.address());  // with the list that has no d
  const Node d = Node::join(machines.options("d", a.address()), machines.functions);
  wait_until_up(b, 3);
  BOOST_TEST(b.rpc_sync("d", &square_of, std::int64_t{3}) == 9);
}

/// Runs until the test lets it end.
struct Held {
  std::binary_semaphore begun{0};
  std::binary_semaphore may_end{0};
};
Held& held() {
  static Held one;
  return one;
}
void hold() {
  held().begun.release();
  held().may_end.acquire();
}

std::string text_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

BOOST_AUTO_TEST_CASE(a_member_that_hears_of_another_before_its_key_connects_once_it_has_that, *label("S11")) {
  Machines machines;
  const FunctionRegistry functions{{"hold", &hold}};
  const Node a = Node::join(machines.with("a"), functions);
  NodeOptions busy = machines.with("b", a.address());
  busy.pool.threads = busy.pool.threads_max = 1;
  busy.audit_log = (machines.place("b") / "b.audit").string();
  const Node b = Node::join(busy, functions);
  wait_until_up(a, 2);
  const Future<void> call = a.rpc_async("b", &hold);
  held().begun.acquire();  // b reads no list until this ends
  machines.made.add({"d"}, std::nullopt);
  machines.bring_list_to("a");
  const auto due = std::chrono::steady_clock::now() + 10s;
  std::optional<Node> d;
  while (!d && std::chrono::steady_clock::now() < due) {
    try {
      d.emplace(Node::join(machines.options("d", a.address()), functions));
    } catch (const RemoteError& error) {  // a looks at its list every second
      BOOST_TEST((error.code() == ErrorCode::auth_failed), error.what());
    }
  }
  BOOST_REQUIRE(d.has_value());
  while (text_in(busy.audit_log).find("no member has its key") == std::string::npos &&
         std::chrono::steady_clock::now() < due) {
    std::this_thread::yield();
  }
  held().may_end.release();
  call.get();
  wait_until_up(b, 3);
  wait_until_up(*d, 3);
}

BOOST_AUTO_TEST_CASE(a_second_list_with_a_serial_that_is_known_is_audited, *label("S11")) {
  Machines machines;
  NodeOptions audited = machines.with("a");
  audited.audit_log = (machines.place("a") / "a.audit").string();
  const Node a = Node::join(audited, machines.functions);
  MemberList second = machines.made.list();
  second.members.pop_back();
  const auto cluster = ClusterKeyFile::load((machines.directory.path() / "keys" / "cluster.key").string());
  std::ofstream(machines.place("a") / "new") << second.signed_by(cluster.value().key);
  std::filesystem::rename(machines.place("a") / "new", machines.place("a") / "cluster.members");
  const auto due = std::chrono::steady_clock::now() + 10s;  // a looks at its list every second
  while (text_in(audited.audit_log).find("second list") == std::string::npos &&
         std::chrono::steady_clock::now() < due) {
    std::this_thread::yield();
  }
  BOOST_TEST(text_in(audited.audit_log).find("is a second list with serial 2") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_newcomer_that_no_list_has_gets_in_by_its_certificate, *label("S11")) {
  Machines machines;
  NodeOptions with_endpoint = machines.with("a");
  with_endpoint.join_endpoint = "tcp://127.0.0.1:*";
  const Node a = Node::join(with_endpoint, machines.functions);
  const Node b = machines.join("b", a.address());
  machines.made.add({"d"}, std::nullopt);
  NodeOptions newcomer = machines.options("d", a.address());
  newcomer.introduce_at = a.join_endpoint();
  const Node d = Node::join(newcomer, machines.functions);
  wait_until_up(b, 3);
  BOOST_TEST(d.rpc_sync("a", &square_of, std::int64_t{3}) == 9);
  BOOST_TEST(b.rpc_sync("d", &square_of, std::int64_t{4}) == 16);
}

/// Why `options` do not join.
Error refusal_of_join(const NodeOptions& options, const FunctionRegistry& functions) {
  try {
    (void)Node::join(options, functions);
  } catch (const RemoteError& error) {
    return error.error();
  }
  BOOST_FAIL("joined");
  return {};
}

BOOST_AUTO_TEST_CASE(a_newcomer_without_a_certificate_that_counts_stays_out, *label("attack") * label("S11")) {
  Machines machines;
  NodeOptions with_endpoint = machines.with("a");
  with_endpoint.join_endpoint = "tcp://127.0.0.1:*";
  const Node a = Node::join(with_endpoint, machines.functions);
  machines.made.add({"d"}, std::nullopt);
  NodeOptions newcomer = machines.options("d", a.address());
  BOOST_TEST((refusal_of_join(newcomer, machines.functions).code == ErrorCode::auth_failed));  // shows nothing
  newcomer.introduce_at = a.join_endpoint();
  std::filesystem::remove(machines.made.certificate_path("d"));
  BOOST_TEST((refusal_of_join(newcomer, machines.functions).code == ErrorCode::auth_failed));  // has nothing to show
}

BOOST_AUTO_TEST_CASE(a_certificate_of_a_key_that_was_revoked_lets_nobody_in, *label("attack") * label("S11")) {
  Machines machines;
  machines.made.add({"d"}, std::nullopt);
  const std::filesystem::path kept = machines.directory.path() / "kept";
  std::filesystem::copy(machines.directory.path() / "keys" / "nodes", kept);
  std::filesystem::permissions(kept, std::filesystem::perms::owner_all);
  machines.made.revoke({"d"});
  machines.bring_list_to("a");
  NodeOptions with_endpoint = machines.with("a");
  with_endpoint.join_endpoint = "tcp://127.0.0.1:*";
  const Node a = Node::join(with_endpoint, machines.functions);
  NodeOptions thief;
  thief.use_key_files((kept / "d.key").string());
  thief.seed = a.address();
  thief.world_size = 0;
  thief.introduce_at = a.join_endpoint();
  const Error refused = refusal_of_join(thief, machines.functions);
  BOOST_TEST((refused.code == ErrorCode::not_authorized), refused.text());
  BOOST_TEST(refused.message ==
             "a does not let this node in: the certificate of d came with list 3, and in list 4 it does not have that "
             "key any more");
}

BOOST_AUTO_TEST_CASE(a_member_of_the_list_joins_also_if_it_cannot_introduce_itself, *label("S11")) {
  Machines machines;
  const Node a = machines.join("a");
  NodeOptions listed = machines.with("b", a.address());
  std::filesystem::copy_file(machines.made.certificate_path("b"), machines.place("b") / "b.certificate");
  const detail::ReservedPort nobody = detail::reserve_port("127.0.0.1", 0);
  listed.introduce_at = "tcp://127.0.0.1:" + nobody.number;
  listed.join_deadline = 2s;
  const Node b = Node::join(listed, machines.functions);
  BOOST_TEST(b.rpc_sync("a", &square_of, std::int64_t{3}) == 9);
}

/// Calls `peer` on a thread of its own until it is destroyed, small and large.
class Load {
 public:
  Load(const Node& node, const NodeName& peer) : thread_([this, &node, peer] { run(node, peer); }) {}
  ~Load() { finish(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// Waits until `count` calls that begin from now on have been answered.
  void await(int count) const {
    const int until = answered_ + count + 1;
    const auto due = std::chrono::steady_clock::now() + 30s;
    while (answered_ < until && failure().empty() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
    BOOST_TEST(answered_ >= until);
  }
  [[nodiscard]] std::string failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  void finish() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run(const Node& node, const NodeName& peer) try {
    const Tensor large = full({1'000'000}, 2.0F);
    for (std::int64_t i = 0; !done_; ++i, ++answered_) {
      if (node.rpc_sync(peer, &square_of, i) != i * i) throw std::runtime_error("a wrong square");
      if (i % 16 == 0 && sum(node.rpc_sync(peer, &twice, large)).item<float>() != 4e6F)
        throw std::runtime_error("a wrong sum");
    }
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex_);
    failure_ = error.what();
  }

  std::atomic<bool> done_ = false;
  std::atomic<int> answered_ = 0;
  mutable std::mutex mutex_;
  std::string failure_;  ///< guarded by mutex_
  std::thread thread_;
};

/// Waits until the node that joined with `options` uses the key that the list has for it.
void wait_for_new_key(const NodeOptions& options, const PublicKey& before) {
  const auto due = std::chrono::steady_clock::now() + 10s;
  const auto own = [&] { return options.keys->own_keys().public_key(); };
  while (own() == before && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST((own() != before));
  BOOST_TEST((options.keys->key_of(options.name) == own()));
}

BOOST_AUTO_TEST_CASE(all_keys_are_replaced_under_load_and_no_call_fails, *label("S12") * label("fault-F47")) {
  KeyFiles files;
  const FunctionRegistry functions{{"square", &square_of}, {"doubled", &twice}};
  const NodeOptions with_a = files.options("a");
  Node a = Node::join(with_a, functions);
  const NodeOptions with_b = files.options("b", a.address());
  Node b = Node::join(with_b, functions);
  const NodeOptions with_c = files.options("c", a.address());
  Node c = Node::join(with_c, functions);
  wait_until_up(a, 3);
  wait_until_up(b, 3);
  std::atomic<int> downs = 0;
  for (Node* node : {&a, &b, &c}) node->on_down([&](const Peer&, const Error&) { ++downs; });
  Load from_a(a, "b");
  Load from_b(b, "a");
  Load from_c(c, "a");
  for (int round = 0; round < 3; ++round) {
    for (const Load* load : {&from_a, &from_b, &from_c}) load->await(20);
    std::vector<PublicKey> before;
    for (const NodeOptions* with : {&with_a, &with_b, &with_c}) before.push_back(with->keys->own_keys().public_key());
    files.made.rotate(kListed, std::nullopt);
    wait_for_new_key(with_a, before[0]);
    wait_for_new_key(with_b, before[1]);
    wait_for_new_key(with_c, before[2]);
  }
  for (const Load* load : {&from_a, &from_b, &from_c}) load->await(20);
  for (Load* load : {&from_a, &from_b, &from_c}) {
    load->finish();
    BOOST_TEST(load->failure() == "");
  }
  BOOST_TEST(downs == 0);
  const NodeOptions with_new_list = files.options("c", a.address());
  BOOST_TEST((with_new_list.keys->own_keys().public_key() == with_c.keys->own_keys().public_key()));
}

BOOST_AUTO_TEST_CASE(who_does_not_get_its_new_key_is_heard_no_more_and_down_after_its_lease,
                     *label("attack") * label("S12") * label("fault-F47")) {
  Machines machines;
  const Node a = machines.join("a");
  const Node c = machines.join("c", a.address());
  wait_until_up(a, 2);
  machines.made.rotate({"c"}, std::nullopt);
  machines.bring_list_to("a");
  wait_until_up(a, 1);
  BOOST_CHECK_THROW((void)c.rpc_sync("a", &square_of, std::int64_t{3}), RemoteError);
}

BOOST_AUTO_TEST_CASE(a_node_does_not_use_the_key_file_of_another) {
  const KeyFiles files;
  NodeOptions options;
  options.name = "b";
  try {
    options.use_key_files(files.made.key_path("a"));
    BOOST_FAIL("used");
  } catch (const RemoteError& error) {
    BOOST_TEST(error.error().message == files.made.key_path("a") + " is the key of a, and this node is b");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
