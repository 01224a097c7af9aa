// Programs of a host: found by contents, copied whole or not at all.
#include "node/hosts/host_programs.h"

#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "node/hosts/agent_frames.h"
#include "node/launch/program_path.h"
#include "tests/support/temporary_directory.h"

using namespace troupe;
using namespace troupe::detail;
using troupe::testing::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

struct Programs : TemporaryDirectory {
  fs::path write_program(const std::string& name, const std::string& contents) {
    const fs::path file = path() / name;
    std::ofstream(file) << contents;
    chmod(file.c_str(), 0700);
    return file;
  }

  /// Returns the program `file` as it is, to be looked for at `there`.
  AgentProgram wanted(const fs::path& file, const fs::path& there, bool copy) {
    return {there, hash_of_file(file), fs::file_size(file), copy};
  }

  std::string contents_of(const fs::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  Variables variables{{"XDG_CACHE_HOME", (path() / "cache").string()}, {"PATH", path().string()}};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(host_programs, Programs)

BOOST_AUTO_TEST_CASE(hashes_are_blake2b_of_256_bits) {
  BOOST_TEST(hash_of_file(write_program("abc", "abc")) ==
             "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  BOOST_CHECK_THROW((void)hash_of_file(path() / "none"), std::system_error);
}

BOOST_AUTO_TEST_CASE(a_program_with_the_same_contents_is_used_where_it_is) {
  const fs::path here = write_program("trainer", "#!/bin/sh\n");
  HostPrograms programs(variables);
  programs.look_for({wanted(here, here, false), {"trainer", "", 0, false}});
  BOOST_TEST(programs.problems().empty());
  BOOST_TEST(programs.lacks().empty());
  BOOST_TEST(programs.path(0) == here);
  BOOST_TEST(programs.path(1) == here);  // a bare name: the host's own, on its PATH
}

BOOST_AUTO_TEST_CASE(another_program_is_refused_with_both_hashes_and_a_missing_one_with_its_path) {
  const fs::path here = write_program("trainer", "new");
  const fs::path there = write_program("old", "old");
  HostPrograms programs(variables);
  programs.look_for({wanted(here, there, false), wanted(here, path() / "none", false), {"nothing", "", 0, false}});
  const std::vector<std::string> problems{
      there.string() + " is another program than here: BLAKE2b " + hash_of_file(there).substr(0, 12) + "... there, " +
          hash_of_file(here).substr(0, 12) + "... here; copy = true in [cluster] copies it",
      "no program " + (path() / "none").string() + "; copy = true in [cluster] copies it",
      "no program \"nothing\" on PATH"};
  BOOST_TEST(programs.problems() == problems, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_copy_is_kept_under_its_hash_and_found_again) {
  const fs::path here = write_program("trainer", "first second");
  const AgentProgram program = wanted(here, path() / "none", true);
  {
    HostPrograms programs(variables);
    programs.look_for({program});
    BOOST_TEST(programs.lacks() == std::vector<std::size_t>{0});
    programs.take_piece(0, "first ");
    programs.take_piece(0, "second");
    programs.take_piece(0, "");
    BOOST_TEST(programs.lacks().empty());
    BOOST_TEST(programs.path(0) == path() / "cache" / "troupe" / "programs" / program.hash / "none");
    BOOST_TEST(contents_of(programs.path(0)) == "first second");
    BOOST_TEST(is_program(programs.path(0)));
  }
  HostPrograms again(variables);
  again.look_for({program});
  BOOST_TEST(again.lacks().empty());
}

// As on clusters whose hosts share the home folder. Processes of two hosts may have equal numbers, as these have.
BOOST_AUTO_TEST_CASE(two_that_copy_into_one_cache_at_the_same_time_do_not_disturb_each_other) {
  const fs::path here = write_program("trainer", "first second");
  const AgentProgram program = wanted(here, path() / "none", true);
  HostPrograms one(variables);
  HostPrograms other(variables);
  for (HostPrograms* programs : {&one, &other}) programs->look_for({program});
  for (const char* piece : {"first ", "second", ""}) {
    for (HostPrograms* programs : {&one, &other}) programs->take_piece(0, piece);
  }
  BOOST_TEST(contents_of(one.path(0)) == "first second");
  BOOST_TEST(contents_of(other.path(0)) == "first second");
}

BOOST_AUTO_TEST_CASE(a_large_program_that_is_compared_says_that_work_goes_on) {
  const fs::path large = write_program("large", "");
  fs::resize_file(large, 40 << 20);  // two times 16 MiB, and a rest
  int calls = 0;
  HostPrograms programs(variables, [&calls] { ++calls; });
  programs.look_for({wanted(large, large, false)});
  BOOST_TEST(programs.problems().empty());
  BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_CASE(a_copy_that_is_not_what_was_announced_is_not_kept) {
  const fs::path here = write_program("trainer", "12345");
  const AgentProgram program = wanted(here, path() / "none", true);
  const std::vector<std::vector<std::string>> wrong{{"12346", ""}, {"1234", ""}, {"123456"}};
  for (const auto& pieces : wrong) {
    HostPrograms programs(variables);
    programs.look_for({program});
    BOOST_CHECK_THROW(for (const std::string& piece : pieces) programs.take_piece(0, piece), AgentProtocolError);
  }
  for (const auto& entry : fs::recursive_directory_iterator(path() / "cache")) {
    BOOST_TEST_CONTEXT(entry.path()) { BOOST_TEST(entry.is_directory()); }
  }
  HostPrograms programs(variables);
  programs.look_for({program, program});
  programs.take_piece(0, "1");
  BOOST_CHECK_THROW(programs.take_piece(1, "1"), AgentProtocolError);  // two at once
  BOOST_CHECK_THROW(programs.take_piece(7, "1"), AgentProtocolError);
}

/// While it lives, files of this process take `bytes` and no more, as on a disk that is full then.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  sighandler_t handler_;
  rlimit before_{};
};

// An agent that cannot write a copy refuses, and may be killed before it ends: its destructors do not run then.
BOOST_AUTO_TEST_CASE(a_copy_for_which_the_disk_has_no_room_is_removed_at_once) {
  const fs::path here = write_program("trainer", "first second");
  HostPrograms programs(variables);
  programs.look_for({wanted(here, path() / "none", true)});
  programs.take_piece(0, "first ");
  int why = 0;
  {
    const FileLimit full(6);
    try {
      programs.take_piece(0, "second");
    } catch (const std::system_error& error) {
      why = error.code().value();
    }
  }
  BOOST_TEST(why == EFBIG);
  for (const auto& entry : fs::recursive_directory_iterator(path() / "cache")) {
    BOOST_TEST_CONTEXT(entry.path()) { BOOST_TEST(entry.is_directory()); }
  }
}

BOOST_AUTO_TEST_CASE(a_kept_copy_that_was_changed_is_not_used) {
  const fs::path here = write_program("trainer", "12345");
  const AgentProgram program = wanted(here, path() / "none", true);
  HostPrograms programs(variables);
  programs.look_for({program});
  programs.take_piece(0, "12345");
  programs.take_piece(0, "");
  std::ofstream(programs.path(0)) << "54321";
  programs.look_for({program});
  BOOST_TEST(programs.lacks() == std::vector<std::size_t>{0});
}

BOOST_AUTO_TEST_CASE(a_cache_to_which_others_write_is_not_used) {
  const fs::path here = write_program("trainer", "12345");
  fs::create_directories(path() / "cache" / "troupe");
  chmod((path() / "cache" / "troupe").c_str(), 0777);
  HostPrograms programs(variables);
  programs.look_for({wanted(here, path() / "none", true)});
  BOOST_CHECK_THROW(programs.take_piece(0, "12345"), std::system_error);
  fs::remove(path() / "cache" / "troupe");
  fs::create_directory_symlink(path(), path() / "cache" / "troupe");
  BOOST_CHECK_THROW(programs.take_piece(0, "12345"), std::system_error);
}

BOOST_AUTO_TEST_CASE(a_hash_that_is_none_names_no_folder) {
  const fs::path here = write_program("trainer", "12345");
  AgentProgram program = wanted(here, path() / "none", true);
  program.hash = "../../" + program.hash;
  HostPrograms programs(variables);
  programs.look_for({program});
  BOOST_CHECK_THROW(programs.take_piece(0, "12345"), AgentProtocolError);
}

BOOST_AUTO_TEST_SUITE_END()
