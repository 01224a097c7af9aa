#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_directory.h"

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// A directory with a cluster file, in which `troupe` is run.
class Shell {
 public:
  Shell() {
    std::ofstream(directory_.path() / "c.toml")
        << "[cluster]\nname = \"c\"\n[[role]]\nname = \"ps\"\ncommand = [\"touch\", \"started\"]\n";
  }

  /// Returns the first lines that `troupe ARGUMENTS` prints, and its status.
  [[nodiscard]] std::string troupe(const std::string& arguments) const {
    const std::string command = "cd " + directory_.path().string() + " && { " TROUPE_PROGRAM " " + arguments +
                                " 2>&1; echo status $?; } | head -200";
    FILE* const pipe = popen(command.c_str(), "re");
    BOOST_REQUIRE(pipe != nullptr);
    std::string text;
    std::array<char, 4096> piece{};
    while (const std::size_t bytes = fread(piece.data(), 1, piece.size(), pipe)) text.append(piece.data(), bytes);
    pclose(pipe);
    return text;
  }

  [[nodiscard]] bool has_started() const { return fs::exists(directory_.path() / "started"); }

 private:
  testing::TemporaryDirectory directory_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

BOOST_AUTO_TEST_SUITE(main)

BOOST_AUTO_TEST_CASE(overrides_may_stand_before_the_file_and_between_its_options) {
  const Shell shell;
  for (const std::string arguments :
       {"--set node.log_level=debug c.toml --origin", "--origin --set node.log_level=debug c.toml",
        "--set cluster.lease=30s --set node.log_level=debug c.toml --origin",
        "c.toml --origin --set node.log_level=debug"}) {
    const std::string shown = shell.troupe("config show " + arguments);
    BOOST_TEST(has(shown, "status 0"), shown);
    BOOST_TEST(has(shown, "debug"), shown);
  }
}

BOOST_AUTO_TEST_CASE(an_empty_text_is_no_host_directory_or_node) {
  const Shell shell;
  for (const std::string option : {"--host", "--keys", "--members", "--log-dir"}) {
    const std::string host = option == "--keys" || option == "--members" ? "--host here " : "";
    const std::string said = shell.troupe("up c.toml " + host + option + " ''");
    BOOST_TEST(has(said, "troupe: " + option + ": the text is empty"), said);
    BOOST_TEST(has(said, "status 2"), said);
  }
  BOOST_TEST(!shell.has_started());
  for (const std::string option : {"--keys", "--members", "--job-dir", "--name", "--pod"})
    BOOST_TEST(has(shell.troupe("node c.toml " + option + " ''"), "troupe: " + option + ": the text is empty"));
  for (const std::string command : {"kill", "stack"})
    BOOST_TEST(has(shell.troupe(command + " ''"), "troupe: NODE: the text is empty"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
