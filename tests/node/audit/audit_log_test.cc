#include "node/audit/audit_log.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
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
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "node/audit/audit_chain.h"
#include "node/audit/audit_command.h"
#include "tests/support/counting_new.h"
#include "tests/support/temporary_directory.h"

namespace troupe {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryDirectory;

std::vector<nlohmann::json> lines_of(const fs::path& path) {
  std::vector<nlohmann::json> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

/// Returns how many lines are whole.
std::ptrdiff_t line_count_of(const fs::path& path) {
  std::ifstream in(path);
  return std::count(std::istreambuf_iterator<char>(in), {}, '\n');
}

template <class Condition>
bool soon(Condition holds) {
  const auto due = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (!holds() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  return holds();
}

/// Returns how many entries of `event` the lines stand for.
std::uint64_t counted(const std::vector<nlohmann::json>& lines, std::string_view event) {
  std::uint64_t sum = 0;
  for (const auto& line : lines) {
    if (line["event"] == event) sum += line["count"].get<std::uint64_t>();
  }
  return sum;
}

AuditEntry refused(std::string peer) {
  return {.event = AuditEvent::refused, .reason = "auth_failed", .peer = std::move(peer)};
}

BOOST_AUTO_TEST_SUITE(audit_log)

BOOST_AUTO_TEST_CASE(what_is_added_is_in_the_file_soon_and_the_log_ends_with_its_close) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  const auto log = AuditLog::open({.path = path, .node = "ps0"}).value();
  log->add(refused("worker1"));
  BOOST_TEST(soon([&] { return line_count_of(path) == 2; }));
  auto lines = lines_of(path);
  BOOST_TEST_REQUIRE(lines.size() == 2U);
  BOOST_TEST(lines[0]["event"] == "opened");
  BOOST_TEST(lines[1]["event"] == "refused");
  BOOST_TEST(lines[1]["peer"] == "worker1");
  BOOST_TEST(lines[1]["node"] == "ps0");
  log->add(refused("worker2"));
  log->close();
  lines = lines_of(path);
  BOOST_TEST_REQUIRE(lines.size() == 4U);
  BOOST_TEST(lines[2]["peer"] == "worker2");
  BOOST_TEST(lines[3]["event"] == "closed");
  log->add(refused("late"));
  BOOST_TEST(log->lost() == 1U);
  BOOST_TEST(verify_audit({path}) == 0);
}

BOOST_AUTO_TEST_CASE(a_second_life_goes_on_with_the_chain) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  for (int i = 0; i < 3; ++i) AuditLog::open({.path = path, .node = "ps0"}).value()->add(refused("a"));
  BOOST_TEST(lines_of(path).size() == 9U);
  BOOST_TEST(verify_audit({path}) == 0);
}

BOOST_AUTO_TEST_CASE(a_flood_stays_below_the_bound_loses_no_count_and_verifies,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S14")) {
  constexpr int kEach = 250'000;
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  const auto log = AuditLog::open({.path = path, .node = "ps0"}).value();
  std::vector<std::thread> strangers;
  for (int t = 0; t < 4; ++t) {
    strangers.emplace_back([&log, t] {
      for (int i = 0; i < kEach; ++i) log->add(refused(fmt::format("\x1b[2J{}\n{}", t, i % 2 == 0 ? 0 : i)));
    });
  }
  for (std::thread& stranger : strangers) stranger.join();
  log->close();
  BOOST_TEST_MESSAGE(fmt::format("{} bytes", fs::file_size(path)));
  BOOST_TEST(fs::file_size(path) <= AuditFile::kBytesMax);
  BOOST_TEST(!fs::exists(path.string() + ".1"));
  BOOST_TEST(counted(lines_of(path), "refused") == 4U * kEach);
  BOOST_TEST(log->lost() == 0U);
  BOOST_TEST(verify_audit({path}) == 0);
}

BOOST_AUTO_TEST_CASE(the_chain_goes_on_in_the_next_file) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  constexpr std::size_t kBytes = 2000;
  const auto log = AuditLog::open({.path = path, .node = "ps0", .bytes_max = kBytes}).value();
  for (int i = 0; i < 12; ++i) log->add(refused(std::to_string(i)));  // about 220 bytes each
  log->close();
  const fs::path former = path.string() + ".1";
  BOOST_TEST_REQUIRE(fs::exists(former));
  BOOST_TEST(fs::file_size(path) <= kBytes);
  BOOST_TEST(fs::file_size(former) <= kBytes);
  BOOST_TEST(verify_audit({former, path}) == 0);
  BOOST_TEST(verify_audit({path}) == 0);
  BOOST_TEST(verify_audit({path, former}) == 1);
}

BOOST_AUTO_TEST_CASE(close_does_not_wait_for_a_thread_that_hangs) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  std::promise<void> hangs;
  std::promise<void> goes_on;
  const auto went_on = std::make_shared<std::promise<void>>();  // the thread may leave it later than this test
  const auto warn = [&, went_on](std::string_view) {
    hangs.set_value();
    goes_on.get_future().wait();
    went_on->set_value();
  };
  auto log = AuditLog::open({.path = path, .node = "ps0", .bytes_max = 1, .warn = warn}).value();
  fs::create_directories(path.string() + ".1/full");  // so that the file cannot be replaced
  log->add(refused("a"));
  hangs.get_future().wait();
  BOOST_TEST(!log->close(std::chrono::milliseconds{1}));
  log->add(refused("b"));
  log.reset();
  goes_on.set_value();
  went_on->get_future().wait();
}

BOOST_AUTO_TEST_CASE(a_disk_that_refuses_lines_is_one_warning_and_their_number) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  std::atomic<int> warnings = 0;
  const auto log =
      AuditLog::open({.path = path, .node = "ps0", .bytes_max = 1, .warn = [&](std::string_view) { ++warnings; }})
          .value();
  const fs::path former = path.string() + ".1";
  fs::create_directories(former / "full");  // so that the file cannot be replaced
  for (int i = 0; i < 5; ++i) log->add(refused(std::to_string(i)));
  BOOST_TEST(soon([&] { return log->lost() == 5U; }));
  BOOST_TEST(warnings == 1);
  fs::remove_all(former);
  log->close();  // two more lines, each in a file of its own
  const auto said = lines_of(former);
  BOOST_TEST_REQUIRE(said.size() == 1U);
  BOOST_TEST(said[0]["event"] == "lost");
  BOOST_TEST(said[0]["count"] == 5);
  BOOST_TEST(verify_audit({former, path}) == 0);
}

/// What a log has told of its last line.
class Told {
 public:
  void add(std::uint64_t line, const AuditHash& hash) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
    last_ = hash;
  }
  [[nodiscard]] std::vector<std::uint64_t> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  [[nodiscard]] AuditHash last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> lines_;  // guarded by mutex_
  AuditHash last_{};                  // guarded by mutex_
};

AuditEntry head_of(std::string peer, std::uint64_t line) {
  return {.event = AuditEvent::head, .peer = std::move(peer), .line = line, .hash = "00"};
}

BOOST_AUTO_TEST_CASE(the_last_line_is_told_at_once_then_rarely_and_when_it_is_asked_for) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  Told told;
  const auto log = AuditLog::open({.path = path, .node = "ps0", .tell_every = std::chrono::hours{1}}).value();
  log->tell_head_now();  // to nobody
  log->tell_head([&](std::uint64_t line, const AuditHash& hash) { told.add(line, hash); });
  BOOST_TEST(soon([&] { return told.lines().size() == 1U; }));
  log->add(refused("worker1"));
  BOOST_TEST(soon([&] { return line_count_of(path) == 2; }));
  BOOST_TEST(told.lines().size() == 1U);
  log->add(refused("worker1"));
  log->tell_head_now(std::chrono::hours{1});
  BOOST_TEST_REQUIRE(told.lines().size() == 2U);
  BOOST_TEST(told.lines()[1] == static_cast<std::uint64_t>(line_count_of(path)));
  std::ifstream in(path);
  std::string last;
  for (std::string line; std::getline(in, line);) last = line;
  BOOST_TEST((told.last() == audit_hash(last)));
  log->tell_head_now(std::chrono::hours{1});
  BOOST_TEST(told.lines().size() == 2U);
  log->close();
  log->tell_head_now(std::chrono::hours{1});
  BOOST_TEST(told.lines().size() == 2U);
}

BOOST_AUTO_TEST_CASE(later_lines_are_told_soon_but_not_those_that_have_what_peers_told) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  Told told;
  const auto log = AuditLog::open({.path = path, .node = "ps0", .tell_every = std::chrono::milliseconds{1}}).value();
  log->tell_head([&](std::uint64_t line, const AuditHash& hash) { told.add(line, hash); });
  BOOST_TEST(soon([&] { return told.lines().size() == 1U; }));
  log->add(refused("worker1"));
  BOOST_TEST(soon([&] { return told.lines().size() == 2U; }));
  for (std::uint64_t line = 1; line <= 5; ++line) log->add(head_of("worker1", line));
  BOOST_TEST(soon([&] { return line_count_of(path) == 7; }));
  BOOST_TEST(told.lines() == (std::vector<std::uint64_t>{1, 2}), boost::test_tools::per_element());
  BOOST_TEST(lines_of(path).back()["line"] == 5);
  log->add(refused("worker2"));
  BOOST_TEST(soon([&] { return told.lines().size() == 3U; }));
  BOOST_TEST(told.lines().back() == 8U);
  log->add(head_of("worker1", 6));
  log->tell_head_now(std::chrono::hours{1});
  BOOST_TEST(told.lines().back() == 9U);
  log->close();
}

BOOST_AUTO_TEST_CASE(lines_that_only_have_what_peers_told_are_told_later) {
  const TemporaryDirectory directory;
  Told told;
  const auto log = AuditLog::open({.path = directory.path() / "ps0.audit",
                                   .node = "ps0",
                                   .tell_every = std::chrono::hours{1},
                                   .tell_heads_every = std::chrono::milliseconds{1}})
                       .value();
  log->tell_head([&](std::uint64_t line, const AuditHash& hash) { told.add(line, hash); });
  BOOST_TEST(soon([&] { return told.lines().size() == 1U; }));
  log->add(head_of("worker1", 1));
  BOOST_TEST(soon([&] { return told.lines().size() == 2U; }));
  log->close();
}

BOOST_AUTO_TEST_CASE(what_could_not_be_told_without_memory_is_told_later) {
  const TemporaryDirectory directory;
  Told told;
  std::atomic<int> refusals = 1;
  const auto log =
      AuditLog::open(
          {.path = directory.path() / "ps0.audit", .node = "ps0", .tell_every = std::chrono::milliseconds{1}})
          .value();
  log->tell_head([&](std::uint64_t line, const AuditHash& hash) {
    if (refusals-- > 0) throw std::bad_alloc();
    told.add(line, hash);
  });
  BOOST_TEST(soon([&] { return told.lines().size() == 1U; }));
  log->close();
}

BOOST_AUTO_TEST_CASE(a_log_without_memory_loses_lines_and_goes_on) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  const auto log = AuditLog::open({.path = path, .node = "ps0"}).value();
  std::promise<void> is_short;
  std::optional<testing::RefusedAllocation> refused_one;
  std::array<std::byte, 64> as_large_as_what_tellers_know{};
  log->tell_head([&is_short, &refused_one, as_large_as_what_tellers_know](std::uint64_t, const AuditHash&) {
    if (refused_one) return;
    (void)as_large_as_what_tellers_know;
    refused_one.emplace(1);  // of the log's thread: its next one
    is_short.set_value();
  });
  BOOST_REQUIRE((is_short.get_future().wait_for(std::chrono::seconds{10}) == std::future_status::ready));
  log->add(refused("worker1"));
  BOOST_TEST(soon([&] { return log->lost() == 1; }));
  log->add(refused("worker2"));
  BOOST_TEST(log->close());
  const auto lines = lines_of(path);
  BOOST_TEST_REQUIRE(lines.size() == 4U);
  BOOST_TEST(lines[1]["event"] == "lost");
  BOOST_TEST(lines[1]["count"] == 1U);
  BOOST_TEST(lines[2]["peer"] == "worker2");
}

BOOST_AUTO_TEST_CASE(a_line_that_came_too_soon_after_a_telling_is_told_later_without_another_line) {
  const TemporaryDirectory directory;
  Told told;
  const auto log =
      AuditLog::open({.path = directory.path() / "ps0.audit",
                      .node = "ps0",
                      .tell_every = std::chrono::milliseconds{1200}})  // equal lines wake it after a second
          .value();
  log->tell_head([&](std::uint64_t line, const AuditHash& hash) { told.add(line, hash); });
  BOOST_TEST(soon([&] { return told.lines().size() == 1U; }));
  log->add(refused("worker1"));
  BOOST_TEST(soon([&] { return told.lines().size() == 2U; }));
}

BOOST_AUTO_TEST_CASE(who_asks_for_the_last_line_to_be_told_does_not_wait_for_a_thread_that_hangs) {
  const TemporaryDirectory directory;
  std::promise<void> hangs;
  std::promise<void> goes_on;
  const auto log = AuditLog::open({.path = directory.path() / "ps0.audit", .node = "ps0"}).value();
  log->tell_head([&](std::uint64_t line, const AuditHash&) {
    if (line != 1) return;
    hangs.set_value();
    goes_on.get_future().wait();
  });
  hangs.get_future().wait();
  log->add(refused("worker1"));
  log->tell_head_now(std::chrono::milliseconds{1});
  goes_on.set_value();
  BOOST_TEST(log->close());
}

BOOST_AUTO_TEST_CASE(a_log_that_cannot_be_opened_says_why) {
  const auto log = AuditLog::open({.path = "/nowhere/ps0.audit", .node = "ps0"});
  BOOST_TEST_REQUIRE(!log.ok());
  BOOST_TEST((log.error().code == ErrorCode::bad_argument));
  BOOST_TEST(log.error().message == "cannot keep an audit log in /nowhere/ps0.audit: No such file or directory");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
