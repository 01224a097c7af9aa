#include "node/audit/audit_command.h"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "node/audit/audit_chain.h"
#include "node/keys/word_lines.h"
#include "tests/support/temporary_directory.h"

namespace troupe {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryDirectory;

BOOST_AUTO_TEST_SUITE(audit_command)

BOOST_AUTO_TEST_CASE(whole_logs_pass_and_broken_ones_do_not) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "ps0.audit";
  AuditChain chain("ps0");
  std::string text;
  for (int i = 0; i < 3; ++i) {
    const std::string line = chain.line_of({{.event = AuditEvent::opened}, 1, {}});
    chain.written(line);
    text += line;
  }
  std::ofstream(path) << text;
  BOOST_TEST(verify_audit({path}) == 0);
  std::ofstream(path) << text.substr(0, text.size() - 1);  // without the last newline
  BOOST_TEST(verify_audit({path}) == 1);
  std::ofstream(path) << text << text;
  BOOST_TEST(verify_audit({path}) == 1);
  std::ofstream(path) << text << std::string(1 << 20, '{');
  BOOST_TEST(verify_audit({path}) == 1);
  BOOST_TEST(verify_audit({path + ".1"}) == 1);  // no such file
  BOOST_TEST(verify_audit({directory.path().string()}) == 1);
}

/// Logs of "a" and "b", in files of their own: a's has five lines, of which b's has the third.
struct TwoLogs {
  TwoLogs() {
    write("a.audit", log_of_a("x"));
    AuditChain chain("b");
    std::string text = add(chain, {.event = AuditEvent::opened});
    write("b.audit", text += add(chain, head_of_third));
  }

  static std::string add(AuditChain& chain, const AuditEntry& entry) {
    const std::string line = chain.line_of({entry, 1, {}});
    chain.written(line);
    return line;
  }

  /// Returns five lines, the second of which is of `peer`.
  std::string log_of_a(const std::string& peer) {
    AuditChain chain("a");
    std::string text = add(chain, {.event = AuditEvent::opened});
    text += add(chain, {.event = AuditEvent::refused, .reason = "no member has its key", .peer = peer});
    text += add(chain, {.event = AuditEvent::joined, .peer = "b"});
    if (head_of_third.hash.empty()) {
      head_of_third = {.event = AuditEvent::head, .peer = "a", .line = 3, .hash = detail::hex_of(chain.head())};
    }
    text += add(chain, {.event = AuditEvent::left, .peer = "b"});
    return text + add(chain, {.event = AuditEvent::closed});
  }

  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  [[nodiscard]] std::string path(const std::string& name) const { return directory.path() / name; }

  TemporaryDirectory directory;
  AuditEntry head_of_third;
};

BOOST_FIXTURE_TEST_CASE(a_log_that_was_written_anew_does_not_fit_what_another_node_knows, TwoLogs,
                        *boost::unit_test::label("attack") * boost::unit_test::label("S14")) {
  BOOST_TEST(verify_audit({path("a.audit"), path("b.audit")}) == 0);
  BOOST_TEST(verify_audit({path("b.audit"), path("a.audit")}) == 0);
  BOOST_TEST(verify_audit({path("a.audit"), path("b.audit"), path("a.audit")}) == 1);
  write("a.audit", log_of_a("y"));
  BOOST_TEST(verify_audit({path("a.audit")}) == 0);  // a whole chain
  BOOST_TEST(verify_audit({path("a.audit"), path("b.audit")}) == 1);
  BOOST_TEST(verify_audit({path("b.audit"), path("a.audit")}) == 1);
}

BOOST_FIXTURE_TEST_CASE(a_log_whose_end_was_cut_off_does_not_fit_what_another_node_knows, TwoLogs,
                        *boost::unit_test::label("attack") * boost::unit_test::label("S14")) {
  const std::string text = log_of_a("x");
  std::size_t at = 0;
  for (int line = 0; line < 2; ++line) at = text.find('\n', at) + 1;
  write("a.audit", text.substr(0, at));
  BOOST_TEST(verify_audit({path("a.audit")}) == 0);
  BOOST_TEST(verify_audit({path("a.audit"), path("b.audit")}) == 1);
  write("a.audit", text.substr(0, text.find('\n', at) + 1));  // with the third
  BOOST_TEST(verify_audit({path("a.audit"), path("b.audit")}) == 0);
}

BOOST_FIXTURE_TEST_CASE(each_log_must_have_an_end, TwoLogs) {
  const std::string text = log_of_a("x");
  write("a.audit", text.substr(0, text.size() - 1));  // without the last newline
  BOOST_TEST(verify_audit({path("a.audit"), path("b.audit")}) == 1);
  BOOST_TEST(verify_audit({path("b.audit"), path("a.audit")}) == 1);
}

BOOST_FIXTURE_TEST_CASE(a_directory_stands_for_its_logs_and_their_former_files, TwoLogs) {
  const auto verify = [this] { return verify_audit({directory.path().string()}); };
  BOOST_TEST(verify() == 0);
  const std::string text = log_of_a("x");
  const std::size_t second = text.find('\n') + 1;
  write("a.audit.1", text.substr(0, second));
  write("a.audit", text.substr(second));
  write("a.audit.1", "no log");
  BOOST_TEST(verify() == 1);
  write("a.audit.1", text.substr(0, second));
  write("notes.txt", "no log");
  BOOST_TEST(verify() == 0);
  write("c.audit", text);
  BOOST_TEST(verify() == 1);  // a second one of a
  write("c.audit", "");
  BOOST_TEST(verify() == 1);  // a log begins with its opening
  fs::remove(path("c.audit"));
  BOOST_TEST(verify() == 0);
  write("a.audit", log_of_a("y"));
  BOOST_TEST(verify() == 1);
  const TemporaryDirectory none;
  BOOST_TEST(verify_audit({none.path().string()}) == 1);
}

/// Returns a whole chain of `lines` lines, of which the first has this number.
std::string chain_from(const std::string& node, std::uint64_t first, int lines) {
  AuditChain chain(node);
  std::string text;
  for (std::uint64_t number = 1; number < first + static_cast<std::uint64_t>(lines); ++number) {
    const std::string line = TwoLogs::add(chain, {.event = AuditEvent::joined, .peer = "z"});
    if (number >= first) text += line;
  }
  return text;
}

BOOST_FIXTURE_TEST_CASE(a_log_that_begins_behind_all_that_others_know_is_no_proof, TwoLogs,
                        *boost::unit_test::label("attack") * boost::unit_test::label("S14")) {
  const std::string text = log_of_a("x");
  std::size_t at = 0;
  for (int line = 0; line < 3; ++line) at = text.find('\n', at) + 1;
  write("a.audit", text.substr(at));  // says what its line 3 was
  BOOST_TEST(verify_audit({path("a.audit"), path("b.audit")}) == 0);
  write("a.audit", chain_from("a", 4, 3));
  BOOST_TEST(verify_audit({path("a.audit"), path("b.audit")}) == 1);
  write("a.audit", chain_from("a", 9, 3));
  BOOST_TEST(verify_audit({path("a.audit")}) == 0);
  BOOST_TEST(verify_audit({path("a.audit"), path("b.audit")}) == 1);
}

BOOST_FIXTURE_TEST_CASE(a_log_that_is_gone_or_of_another_node_is_noticed, TwoLogs,
                        *boost::unit_test::label("attack") * boost::unit_test::label("S14")) {
  const auto verify = [this] { return verify_audit({directory.path().string()}); };
  write("c.audit", chain_from("c", 1, 3));
  BOOST_TEST(verify() == 0);
  fs::rename(path("a.audit"), path("a.audit.1"));  // nobody is to read it
  BOOST_TEST(verify() == 1);
  fs::remove(path("a.audit.1"));
  BOOST_TEST(verify() == 2);
  BOOST_TEST(verify_audit({path("b.audit")}) == 0);  // alone it is asked about itself only
  write("a.audit", chain_from("d", 1, 5));
  BOOST_TEST(verify() == 1);
}

BOOST_FIXTURE_TEST_CASE(names_in_a_log_command_no_terminal, TwoLogs, *boost::unit_test::label("attack")) {
  write("c.audit", chain_from("a: 5 lines\n\x1b[2J", 1, 3));
  BOOST_TEST(verify_audit({path("c.audit")}) == 1);
  fs::remove(path("c.audit"));
  write("\x1b[2J.audit", log_of_a("x"));
  BOOST_TEST(verify_audit({directory.path().string()}) == 1);
}

BOOST_FIXTURE_TEST_CASE(what_is_no_file_is_not_waited_for, TwoLogs, *boost::unit_test::label("attack")) {
  BOOST_REQUIRE(::mkfifo(path("c.audit").c_str(), 0600) == 0);
  BOOST_TEST(verify_audit({path("c.audit")}) == 1);
  BOOST_TEST(verify_audit({directory.path().string()}) == 1);
  fs::remove(path("c.audit"));
  const TemporaryDirectory elsewhere;
  std::ofstream(elsewhere.path() / "c") << chain_from("c", 1, 3);
  fs::create_symlink(elsewhere.path() / "c", path("c.audit"));
  BOOST_TEST(verify_audit({directory.path().string()}) == 1);
}

BOOST_FIXTURE_TEST_CASE(logs_that_a_crash_or_a_full_disk_left_pass, TwoLogs) {
  const auto verify = [this] { return verify_audit({directory.path().string()}); };
  fs::rename(path("a.audit"), path("a.audit.1"));
  write("a.audit", "");  // there was no room for its first line
  BOOST_TEST(verify() == 0);
  AuditChain chain("c");
  const std::string cut_off = R"({"time":"20)";
  chain.go_on_after(cut_off);
  const std::string text = cut_off + "\n" + add(chain, {.event = AuditEvent::opened});
  write("c.audit", text);
  BOOST_TEST(verify() == 0);
  BOOST_TEST(verify_audit({path("b.audit"), path("c.audit")}) == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
