// Descriptors that a process inherits are read once, and never again under the same number.
#include "node/joining/inherited_descriptor.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "node/file_descriptor.h"
#include "node/node.h"
#include "tests/support/output_of.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(inherited_descriptor)

using detail::FileDescriptor;
using detail::InheritedDescriptor;

/// A pipe with something in it, whose writer has ended. Leaves `number` open.
struct FilledPipe {
  int number = -1;

  template <class Write>
  explicit FilledPipe(const Write& write) {
    int ends[2] = {-1, -1};
    BOOST_REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    number = ends[0];
    const FileDescriptor writer(ends[1]);
    BOOST_REQUIRE(write(writer.get()));
  }
};

FilledPipe pipe_of(const auto& secret_or_ring) {
  return FilledPipe([&](int writer) { return secret_or_ring.to_descriptor(writer).ok(); });
}

/// Gives `pipe` the number `number`, which no other file has.
void move_to(int number, const FilledPipe& pipe) {
  BOOST_REQUIRE((pipe.number == number || ::fcntl(number, F_GETFD) == -1));
  if (pipe.number == number) return;
  BOOST_REQUIRE(::dup2(pipe.number, number) == number);
  ::close(pipe.number);
}

/// Gives `number` to a file whose bytes nobody may take, while it lives.
class Stranger {
 public:
  explicit Stranger(int number) : file_(open_as(number)) {}

  /// Returns whether the file is open, with all its bytes.
  [[nodiscard]] bool is_whole() const {
    std::vector<char> bytes(ClusterSecret::kBytes);
    return ::read(file_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  }

 private:
  static int open_as(int number) {
    BOOST_REQUIRE(::fcntl(number, F_GETFD) == -1);  // the reader has closed it
    move_to(number, pipe_of(ClusterSecret::random()));
    return number;
  }

  FileDescriptor file_;
};

/// Sets variables of this process while it lives.
class VariablesHere {
 public:
  explicit VariablesHere(std::map<std::string, std::string> variables) : variables_(std::move(variables)) {
    for (const auto& [name, value] : variables_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~VariablesHere() {
    for (const auto& [name, value] : variables_) ::unsetenv(name.c_str());
  }
  VariablesHere(const VariablesHere&) = delete;
  VariablesHere& operator=(const VariablesHere&) = delete;

 private:
  std::map<std::string, std::string> variables_;
};

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string secret_key(const KeyRing& ring) { return text(ring.own_keys().secret()); }

BOOST_AUTO_TEST_CASE(options_from_the_environment_are_the_same_again_and_close_no_file_of_others) {
  const ClusterSecret secret = ClusterSecret::random();
  const std::vector<NodeName> names{"a", "b"};
  const KeyRing ring = make_run_keys(names)[1];
  const FilledPipe secret_pipe = pipe_of(secret);
  const FilledPipe ring_pipe = pipe_of(ring);
  const VariablesHere here({{"TROUPE_SEED", "tcp://127.0.0.1:4000"},
                            {"TROUPE_ADDRESS", "tcp://127.0.0.1:*"},
                            {"TROUPE_CLUSTER", "c"},
                            {"TROUPE_CLUSTER_ID", "options_from_the_environment"},
                            {"TROUPE_NODE", "b"},
                            {"TROUPE_ROLE", "b"},
                            {"TROUPE_RANK", "1"},
                            {"TROUPE_WORLD", "a,b"},
                            {"TROUPE_SECRET_FD", std::to_string(secret_pipe.number)},
                            {"TROUPE_KEYS_FD", std::to_string(ring_pipe.number)}});
  BOOST_TEST(text(NodeOptions::from_environment().secret.bytes()) == text(secret.bytes()));
  const Stranger at_secret(secret_pipe.number);
  const Stranger at_ring(ring_pipe.number);
  const NodeOptions again = NodeOptions::from_environment();
  BOOST_TEST(text(again.secret.bytes()) == text(secret.bytes()));
  BOOST_TEST(again.keys.value().own_name() == "b");
  BOOST_TEST(secret_key(again.keys.value()) == secret_key(ring));
  BOOST_TEST(at_secret.is_whole());
  BOOST_TEST(at_ring.is_whole());
}

BOOST_AUTO_TEST_CASE(who_has_no_place_in_a_cluster_is_told_that_it_is_alone) {
  std::uint32_t world_size = 0;
  const std::string logged = testing::output_of([&] { world_size = NodeOptions::from_environment().world_size; });
  BOOST_TEST(world_size == 1U);
  const std::string alone =
      "info [node] neither TROUPE_SEED nor MASTER_ADDR is in the environment: this is a world of one; "
      "`troupe up FILE` starts a cluster\n";
  BOOST_TEST(logged.ends_with(alone), logged);
}

BOOST_AUTO_TEST_CASE(another_node_of_the_process_has_its_own_under_the_same_number) {
  const std::vector<NodeName> names{"a", "b"};
  const std::vector<KeyRing> rings = make_run_keys(names);
  const FilledPipe first = pipe_of(rings[0]);
  BOOST_TEST(detail::inherited_keys({first.number, "two", "a"}).value().own_name() == "a");
  move_to(first.number, pipe_of(rings[1]));
  BOOST_TEST(detail::inherited_keys({first.number, "two", "b"}).value().own_name() == "b");
  BOOST_TEST(detail::inherited_keys({first.number, "two", "a"}).value().own_name() == "a");
}

BOOST_AUTO_TEST_CASE(a_process_that_is_started_anew_is_told_that_its_former_life_has_read_them) {
  const auto nothing = [](int /*writer*/) { return true; };
  for (const bool is_ring : {false, true}) {
    const FilledPipe pipe(nothing);
    const InheritedDescriptor from{pipe.number, is_ring ? "anew, keys" : "anew, secret", "a"};
    const Error error = is_ring ? detail::inherited_keys(from).error() : detail::inherited_secret(from).error();
    BOOST_TEST(error.message.find(" has only 0 bytes, expected ") != std::string::npos, error.message);
    BOOST_TEST(error.hint ==
               "only the first process that is started with it can read it: to start one anew needs key files");
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_used_is_read_once_too) {
  const FilledPipe pipe([](int writer) { return ::write(writer, "short", 5) == 5; });
  const InheritedDescriptor from{pipe.number, "short", "a"};
  const std::string why =
      "the cluster secret in descriptor " + std::to_string(pipe.number) + " has only 5 bytes, expected 32";
  BOOST_TEST(detail::inherited_secret(from).error().message == why);
  BOOST_TEST(detail::inherited_secret(from).error().hint.empty());
  const Stranger stranger(pipe.number);
  BOOST_TEST(detail::inherited_secret(from).error().message == why);
  BOOST_TEST(stranger.is_whole());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
