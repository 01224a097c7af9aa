#include "node/launch/log_files.h"

#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "node/config/config.h"
#include "tests/support/expect_throw.h"
#include "tests/support/temporary_directory.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(log_files)

namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_to(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }

/// Checks that the log of node "a" in `directory` is refused for that reason.
void check_refused(const std::filesystem::path& directory, const std::string& why) {
  const std::filesystem::path file = directory / "a.log";
  expect_throw<ConfigError>([&] { const detail::LogFiles files(directory, {"a"}); },
                            "command line: --log-dir: cannot write " + file.string() + ": " + why);
}

/// No file of this process grows beyond so many bytes, as if the disk were full then.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    set(bytes);
  }
  ~FullDisk() {
    set(before_.rlim_cur);
    ::signal(SIGXFSZ, handler_before_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

  void set(rlim_t bytes) const {
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }

 private:
  const sighandler_t handler_before_ = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before_{};
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_goes_on_when_there_is_room_again_and_says_what_was_lost) {
  const TemporaryDirectory directory;
  detail::LogFiles files(directory.path(), {"ps", "b"});
  const std::filesystem::path path = directory.path() / "ps.log";
  std::string first;
  std::string other;
  std::vector<std::string> later;
  {
    const FullDisk disk(7);
    first = files.write(0, "one\nunfinished\ntwo\nthr");  // "one\nunf" fits
    later = {files.write(0, "ee\nfo"), files.write(0, ""), files.write(0, "ur")};
    other = files.write(1, "b\n");
    disk.set(RLIM_INFINITY);
    later.push_back(files.write(0, "\nfive\nsix"));
    later.push_back(files.write(0, "\n"));
  }
  BOOST_TEST(first == "cannot write " + path.string() + ": File too large: output is lost there until there is room");
  BOOST_TEST(later == std::vector<std::string>(5), boost::test_tools::per_element());
  BOOST_TEST(other.empty());
  // "inished\ntwo\nthr" + "ee\nfo" + "ur" + "\n": 15 + 5 + 2 + 1 bytes
  BOOST_TEST(content_of(path) == "one\nunf\n[troupe] 4 lines (23 B) of ps were dropped: File too large\nfive\nsix\n");
}

BOOST_AUTO_TEST_CASE(a_line_about_a_loss_that_does_not_fit_is_finished_and_counts_nothing_twice) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "ps.log";
  {
    detail::LogFiles files(directory.path(), {"ps"});
    const FullDisk disk(4);
    static_cast<void>(files.write(0, "one\n"));
    BOOST_TEST(!files.write(0, "two\n").empty());
    disk.set(14);
    BOOST_TEST(files.write(0, "three\n").empty());  // "[troupe] 1" fits
    disk.set(RLIM_INFINITY);
    BOOST_TEST(files.write_line(0, "[troupe] another gap").empty());
    disk.set(0);
    BOOST_TEST(!files.write(0, "fo").empty());
    BOOST_TEST(files.write_line(0, "[troupe] a third").empty());
    BOOST_TEST(files.write(0, "ur\n").empty());
  }
  BOOST_TEST(content_of(path) ==
             "one\n[troupe] 1 line (4 B) of ps was dropped: File too large\n"
             "[troupe] 1 line (6 B) of ps was dropped: File too large\n[troupe] another gap\n"
             "[troupe] 2 lines (22 B) of ps were dropped: File too large\n");  // as the files end: "four", and a line
}

BOOST_AUTO_TEST_CASE(a_progress_bar_goes_on_at_its_next_drawing) {
  const TemporaryDirectory directory;
  detail::LogFiles files(directory.path(), {"ps"});
  {
    const FullDisk disk(4);
    BOOST_TEST(!files.write(0, "10%\r20").empty());
    disk.set(RLIM_INFINITY);
    BOOST_TEST(files.write(0, "%\r30%\r").empty());
    BOOST_TEST(files.write(0, "40%\r").empty());
  }
  BOOST_TEST(content_of(directory.path() / "ps.log") ==
             "10%\r\n[troupe] 1 line (4 B) of ps was dropped: File too large\n30%\r40%\r");
}

BOOST_AUTO_TEST_CASE(each_node_has_a_file_that_begins_empty) {
  const TemporaryDirectory directory;
  write_to(directory.path() / "a.log", "of yesterday");
  detail::LogFiles files(directory.path(), {"a", "b"});
  BOOST_TEST(files.write(0, "one\n").empty());
  BOOST_TEST(files.write(1, "two\n").empty());
  BOOST_TEST(content_of(directory.path() / "a.log") == "one\n");
  BOOST_TEST(content_of(directory.path() / "b.log") == "two\n");
}

BOOST_AUTO_TEST_CASE(a_line_of_the_launcher_begins_behind_a_whole_line) {
  const TemporaryDirectory directory;
  detail::LogFiles files(directory.path(), {"a"});
  BOOST_TEST(files.write_line(0, "first").empty());
  BOOST_TEST(files.write(0, "whole\nunfinished").empty());
  BOOST_TEST(files.write(0, "").empty());
  BOOST_TEST(files.write_line(0, "gap").empty());
  BOOST_TEST(files.write_line(0, "another").empty());
  BOOST_TEST(files.write(0, "more").empty());
  BOOST_TEST(content_of(directory.path() / "a.log") == "first\nwhole\nunfinished\ngap\nanother\nmore");
}

BOOST_AUTO_TEST_CASE(file_that_another_program_empties_begins_anew) {
  const TemporaryDirectory directory;
  detail::LogFiles files(directory.path(), {"a"});
  BOOST_TEST(files.write(0, "old\nold\n").empty());
  std::filesystem::resize_file(directory.path() / "a.log", 0);  // as logrotate does with copytruncate
  BOOST_TEST(files.write(0, "new\n").empty());
  BOOST_TEST(content_of(directory.path() / "a.log") == "new\n");
}

BOOST_AUTO_TEST_CASE(files_of_a_run_that_has_not_ended_are_refused) {
  const TemporaryDirectory directory;
  write_to(directory.path() / "z.log", "of yesterday");
  {
    detail::LogFiles files(directory.path(), {"a"});
    BOOST_TEST(files.write(0, "one\n").empty());
    expect_throw<ConfigError>(
        [&] {
          const detail::LogFiles others(directory.path(), {"z", "a"});
        },
        "command line: --log-dir: cannot write " + (directory.path() / "a.log").string() +
            ": a run that has not ended writes it, give each run a directory of its own");
    BOOST_TEST(content_of(directory.path() / "z.log") == "of yesterday");
    BOOST_TEST(files.write(0, "two\n").empty());
    BOOST_TEST(content_of(directory.path() / "a.log") == "one\ntwo\n");
  }
  const detail::LogFiles next(directory.path(), {"a"});
  BOOST_TEST(content_of(directory.path() / "a.log").empty());
}

BOOST_AUTO_TEST_CASE(a_link_that_somebody_planted_is_not_followed) {
  const TemporaryDirectory directory;
  const std::filesystem::path precious = directory.path() / "precious";
  write_to(precious, "keep");
  std::filesystem::create_symlink(precious, directory.path() / "a.log");
  check_refused(directory.path(), "it is a symbolic link");
  std::filesystem::remove(directory.path() / "a.log");
  std::filesystem::create_hard_link(precious, directory.path() / "a.log");
  check_refused(directory.path(), "it has another name, too");
  BOOST_TEST(content_of(precious) == "keep");
}

BOOST_AUTO_TEST_CASE(a_pipe_that_somebody_planted_is_not_waited_for) {
  const TemporaryDirectory directory;
  BOOST_REQUIRE(::mkfifo((directory.path() / "a.log").c_str(), 0600) == 0);
  check_refused(directory.path(), "No such device or address");  // it has no reader
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
