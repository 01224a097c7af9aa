// Checks README.md and the guide: their programs and files are pieces of real ones, and their output is the programs'
// output. Counts what samples/README.md says of a3c.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/wait.h>

#include "tests/support/temporary_directory.h"

namespace {

/// A fenced block and the comment above it, which names its source.
struct Block {
  std::string source;
  std::string language;
  std::string text;
};

std::string read(const std::string& path) {
  std::ifstream file(path);
  BOOST_REQUIRE_MESSAGE(file, path << " cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Block> blocks_of(const std::string& markdown) {
  std::vector<Block> blocks;
  std::istringstream lines(markdown);
  std::string source;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      if (!inside) blocks.push_back({source, line.substr(3), {}});
      inside = !inside;
      source.clear();
    } else if (inside) {
      blocks.back().text += line + "\n";
    } else if (line.starts_with("<!-- ")) {
      source = line.substr(5, line.find(" -->") - 5);
    }
  }
  return blocks;
}

/// Returns the output of a command that a user types in the root of the tree.
std::string output_of(const std::string& command) {
  const std::string line = "cd " TROUPE_SOURCE_DIR " && PATH=" TROUPE_PROGRAMS_DIR ":$PATH " + command + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(line.c_str(), "r"), pclose);
  BOOST_REQUIRE(pipe);
  std::string output;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
    output.append(buffer.data(), count);
  return output;
}

const std::string kRoot = TROUPE_SOURCE_DIR "/";
constexpr std::string_view kOutput = "output of ";
constexpr std::string_view kRunWith = "run with ";
constexpr std::string_view kNotRun = "not run: ";

struct Checked {
  int pieces = 0;
  int outputs = 0;
};

/// Checks that every block of a page is found in its named source, and that every program is named.
Checked check_page(const std::string& page) {
  Checked checked;
  for (const Block& block : blocks_of(read(kRoot + page))) {
    if (block.source.starts_with(kOutput)) {
      BOOST_TEST(output_of(block.source.substr(kOutput.size())) == block.text,
                 page << ": not what " << block.source << " is");
      ++checked.outputs;
    } else if (block.language == "cpp" || block.language == "toml" || block.language == "yaml" ||
               (block.language == "sh" && block.source.ends_with(".sh"))) {
      BOOST_REQUIRE_MESSAGE(!block.source.empty(), page << ": a block does not say where it comes from:\n"
                                                        << block.text);
      const bool found = read(kRoot + block.source).find(block.text) != std::string::npos;
      BOOST_TEST(found, page << ": " << block.source << " does not contain:\n" << block.text);
      ++checked.pieces;
    }
  }
  return checked;
}

/// A folder in which a user follows a page: the guide's files are there, and what the page makes.
class Reader {
 public:
  Reader() { std::filesystem::create_symlink(kRoot + "samples", directory_.path() / "samples"); }

  /// Runs `commands` up to the first that fails. Returns the status of the last one, and what all said.
  std::pair<int, std::string> follow(const std::string& commands) const {
    const std::string path = directory_.path().string();
    std::ofstream(path + "/commands") << commands;
    // Open MPI refuses root, and starts no more processes than there are cores, unless it is told otherwise.
    const std::string line = "cd " + path + " && HOME=" + path +
                             " OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
                             " OMPI_MCA_rmaps_base_oversubscribe=1 PATH=" TROUPE_PROGRAMS_DIR
                             ":$PATH timeout 60 sh -e commands > said 2>&1";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(path + "/said")};
  }

 private:
  troupe::testing::TemporaryDirectory directory_;
};

/// Runs the commands of a page, as pasted, in their order. Each block says whether it is run; one may need a program
/// that this machine has not. Returns how many blocks were run.
int follow_page(const std::string& page) {
  const Reader reader;
  int count = 0;
  for (const Block& block : blocks_of(read(kRoot + page))) {
    if (block.language != "sh" || block.source.ends_with(".sh") || block.source.starts_with(kNotRun)) continue;
    const bool needs = block.source.starts_with(kRunWith);
    BOOST_REQUIRE_MESSAGE(needs || block.source == "run",
                          page << ": does a test run this? Say `run`, `run with PROGRAM` or `not run: REASON`:\n"
                               << block.text);
    if (needs && reader.follow("command -v " + block.source.substr(kRunWith.size())).first != 0) continue;
    const auto [status, said] = reader.follow(block.text);
    BOOST_TEST(status == 0, page << ": status " << status << " of\n" << block.text << said);
    ++count;
  }
  return count;
}

std::vector<std::string> pages_of_the_guide() {
  std::vector<std::string> pages;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "samples/guide")) {
    if (entry.path().extension() == ".md") pages.push_back("samples/guide/" + entry.path().filename().string());
  }
  return pages;
}

/// Returns the lines of code of a file, without comments and empty lines.
std::vector<std::string> code_of(const std::string& text) {
  std::vector<std::string> code;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.resize(std::min(line.size(), line.find("//")));
    if (line.find_first_not_of(' ') != std::string::npos) code.push_back(line);
  }
  return code;
}

/// Returns the lines of code that name what messages between nodes go through, or a call that sends one. Registering
/// functions, joining a cluster and using a value of the same node (local_value) send none.
std::vector<std::string> communication_of(const std::vector<std::string>& code) {
  static const std::regex kWord(
      R"(\b(Scope|RRef|Future|Promise|Task|Stream|Group|Collective|DistContext|DistOptimizer|RemoteModule|remote)\b)"
      R"(|\b(rpc_sync|rpc_async|to_here|to_here_async|to_here_all|wait_all)\b|\.(with|cached|publish)\(|\.find(_async)?<)");
  std::vector<std::string> lines;
  for (const std::string& line : code) {
    if (!line.starts_with("#include") && std::regex_search(line, kWord)) lines.push_back(line);
  }
  return lines;
}

/// Returns what the lines include of the folders that know nodes.
std::set<std::string> node_headers_of(const std::vector<std::string>& code) {
  static const std::regex kInclude("#include [\"<]((?:actors|node|troupe)/[^\">]*)[\">]");
  std::set<std::string> headers;
  for (const std::string& line : code) {
    if (std::smatch match; std::regex_search(line, match, kInclude)) headers.insert(match[1]);
  }
  return headers;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_readme_shows_pieces_of_real_programs_and_what_they_print) {
  const Checked checked = check_page("README.md");
  BOOST_TEST(checked.pieces >= 3);
  BOOST_TEST(checked.outputs >= 2);
}

BOOST_AUTO_TEST_CASE(each_page_of_the_guide_shows_pieces_of_a_real_program_and_what_it_prints) {
  const std::vector<std::string> pages = pages_of_the_guide();
  BOOST_TEST(pages.size() == 16U);
  for (const std::string& page : pages) {
    const Checked checked = check_page(page);
    BOOST_TEST(checked.pieces >= 2, page << " shows little of its program");
    BOOST_TEST(checked.outputs == 1, page << " does not show what its program prints");
  }
}

BOOST_AUTO_TEST_CASE(programs_of_the_guide_have_the_numbers_of_their_pages) {
  const std::string guide = kRoot + "samples/guide/";
  int programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(guide)) {
    if (entry.path().extension() != ".cc") continue;
    const std::string page = entry.path().stem().string() + ".md";
    const std::string title = read(guide + page);
    const std::string prefix = "# Guide ";
    BOOST_REQUIRE_MESSAGE(title.starts_with(prefix), page << " does not begin with its number");
    const std::string number = title.substr(prefix.size(), title.find(':') - prefix.size());
    const std::string name = entry.path().filename().string();
    BOOST_TEST(read(entry.path().string()).starts_with("// Page " + number + " of the guide: "),
               name << ": not the number of " << page << ", " << number);
    ++programs;
  }
  BOOST_TEST(programs >= 11);
}

BOOST_AUTO_TEST_CASE(commands_of_the_guide_run_as_pasted) {
  int count = 0;
  for (const std::string& page : pages_of_the_guide()) count += follow_page(page);
  BOOST_TEST(count >= 7);  // keys 4, torchrun 1, several hosts 2
}

BOOST_AUTO_TEST_CASE(commands_are_followed_up_to_the_first_that_fails) {
  const Reader reader;
  BOOST_TEST(reader.follow("test -f samples/guide/hosts.toml\necho there > file\n").first == 0);
  const auto [status, said] = reader.follow("cat file\nfalse\necho on\n");
  BOOST_TEST(status == 1);
  BOOST_TEST(said == "there\n");
}

BOOST_AUTO_TEST_CASE(scripts_of_the_guide_end_with_the_status_of_a_task_that_failed) {
  BOOST_TEST(output_of("sh samples/guide/as_slurm.sh 3 sh -c 'exit $SLURM_PROCID'; echo $?") == "2\n");
  BOOST_TEST(output_of("sh samples/guide/as_mpi.sh 2 sh -c 'exit $OMPI_COMM_WORLD_RANK'; echo $?") == "1\n");
  BOOST_TEST(output_of("sh samples/guide/as_torchrun.sh sh -c 'exit $RANK'; echo $?") == "3\n");
}

BOOST_AUTO_TEST_CASE(scripts_of_the_guide_end_their_tasks_when_they_are_ended) {
  for (const std::string script :
       {"as_slurm.sh 2 sh -c 'rank=$SLURM_PROCID;", "as_mpi.sh 2 sh -c 'rank=$OMPI_COMM_WORLD_RANK;"}) {
    for (const std::string signal : {"INT", "TERM"}) {
      const troupe::testing::TemporaryDirectory directory;
      const std::string task = " echo $$ > $rank.pid; until [ -s 0.pid ]; do :; done; [ $rank = 0 ] || kill -" +
                               signal + " $PPID; exec sleep 1000 > /dev/null'";
      // A task that is left is ended here.
      BOOST_TEST(output_of("here=$PWD; cd " + directory.path().string() + "; sh $here/samples/guide/" + script + task +
                           "; echo $?; kill $(cat *.pid) 2> /dev/null && echo left") == "1\n");
    }
  }
}

BOOST_AUTO_TEST_CASE(keys_of_the_guide_are_removed_however_its_script_ends) {
  const troupe::testing::TemporaryDirectory directory;
  const std::string path = directory.path().string();
  const auto end_of = [&path](const std::string& node) {
    std::ofstream(path + "/troupe") << "#!/bin/sh\n[ $1 = keys ] || { " + node + "; }\n";
    std::filesystem::permissions(path + "/troupe", std::filesystem::perms::owner_all);
    return output_of("PATH=" + path + ":$PATH TMPDIR=" + path +
                     " sh samples/guide/as_members.sh --name a b; echo $?; ls " + path);
  };
  BOOST_TEST(end_of("shift 9; [ $1 = b ]") == "1\ntroupe\n");
  BOOST_TEST(end_of("kill -TERM $PPID; exec sleep 1000") == "1\ntroupe\n");
}

BOOST_AUTO_TEST_CASE(a_block_is_taken_with_the_comment_above_it) {
  const auto blocks = blocks_of("text\n<!-- a/b.cc -->\n```cpp\nint x;\n```\n```sh\nls\n```\n");
  BOOST_REQUIRE(blocks.size() == 2U);
  BOOST_TEST(blocks[0].source == "a/b.cc");
  BOOST_TEST(blocks[0].text == "int x;\n");
  BOOST_TEST(blocks[1].source.empty());
}

BOOST_AUTO_TEST_CASE(the_communication_of_a3c_is_at_most_ten_lines_of_school) {
  // A header that is not listed brings other calls: it belongs here when communication_of knows these.
  const std::set<std::string> known{"actors/checkpoint/checkpoint.h", "actors/collect.h",
                                    "actors/function_registry.h",     "actors/rref.h",
                                    "node/local_cluster.h",           "node/node.h"};
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "samples/a3c")) {
    if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
    const std::vector<std::string> code = code_of(read(entry.path().string()));
    const bool is_school = entry.path().filename() == "school.cc";
    for (const std::string& line : communication_of(code)) {
      BOOST_TEST(is_school, entry.path().filename() << " communicates:" << line);
      ++count;
    }
    for (const std::string& header : node_headers_of(code)) {
      BOOST_TEST(known.contains(header), entry.path().filename() << " includes " << header);
    }
  }
  BOOST_TEST(count <= 10U);
  BOOST_TEST(count >= 5U);  // two calls by a player, one of the learner, the references and futures of these
}

BOOST_AUTO_TEST_CASE(a_line_communicates_if_it_names_a_scope_a_reference_a_future_or_a_call) {
  const auto code = code_of(
      "#include \"actors/rref.h\"\n// node.rpc_sync(\n\n  scope.remote(x);  // rpc_sync\n  remotely(x);\n  RRef<X> "
      "r;\n");
  BOOST_TEST(code.size() == 4U);
  const std::vector<std::string> expected{"  scope.remote(x);  ", "  RRef<X> r;"};
  BOOST_TEST(communication_of(code) == expected, boost::test_tools::per_element());
  BOOST_TEST((node_headers_of(code) == std::set<std::string>{"actors/rref.h"}));
}
