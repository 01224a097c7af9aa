#include "tests/tidy_rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <iterator>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <utility>

#include "tests/tidy_text.h"

namespace tidy {
namespace {

using Paths = std::vector<std::string_view>;

/// What each folder may include besides itself.
const std::map<std::string_view, Paths>& visible_from() {
  static const std::map<std::string_view, Paths> table{
      {"tensor", {}},
      {"autograd", {"tensor"}},
      {"optim", {"tensor"}},
      {"messages", {"tensor"}},
      {"actors", {"tensor", "autograd", "optim", "messages"}},
      {"node", {"tensor", "autograd", "optim", "messages", "actors"}},
      {"troupe.h", {"tensor", "autograd", "optim", "messages", "actors", "node"}},
      {"samples", {"tensor", "autograd", "optim", "messages", "actors", "node", "troupe.h"}},
      {"tests", {"tensor", "autograd", "optim", "messages", "actors", "node", "troupe.h", "samples"}},
  };
  return table;
}

/// Where a library's headers may be included: in files whose path begins with one of `places`.
struct Library {
  std::string_view include;  ///< how its includes begin
  Paths places;
  bool in_headers = false;  ///< or in sources only
};

const std::vector<Library>& libraries() {
  static const std::vector<Library> table{
      {"caf/", {"actors/core/caf.h"}, true},
      {"caf/", {"actors/", "node/"}},
      {"cereal/", {"messages/"}, true},
      {"zmq", {"node/links/zmq_link"}},
      {"munge.h", {"node/engines/munge_proof.cc"}},
      {"toml++/", {"node/"}},
      {"CLI/", {"node/", "samples/"}},
      {"sodium.h",
       {"node/", "actors/core/id_secrets.cc", "tests/bench/rpc/floors/stream_floor.cc",
        "tests/node/keys/introduction_test.cc"}},
      {"tensorpipe/", {"tests/bench/rpc/peers/"}},
      {"torch/", {"tests/bench/rpc/peers/"}},
      {"spdlog/", {"actors/", "node/", "tests/node/sim/log_in_trace_test.cc"}},
      {"nlohmann/", {"tensor/io/", "actors/profile/", "node/", "samples/", "tests/"}},
      {"zip.h", {"tensor/io/"}},
      {"cblas.h", {"tensor/cpu/"}},
      {"immintrin.h", {"tensor/cpu/"}},
      {"sleef.h", {"tensor/cpu/"}},
      {"oneapi/dnnl/", {"tensor/cpu/"}, true},
      {"omp.h", {"tensor/"}},
      {"cuda", {"tensor/cuda/"}, true},
      {"cublas", {"tensor/cuda/"}, true},
      {"cudnn", {"tensor/cuda/"}, true},
      {"cub/", {"tensor/cuda/"}, true},
      {"gloo/", {"node/gloo_collective.cc"}},
      {"httplib.h", {"samples/", "tests/samples/"}},
      {"xxhash.h", {"tensor/io/", "messages/", "actors/", "node/", "tests/"}},
      {"fmt/", {"tensor/format.h", "autograd/format.h"}, true},
      {"fmt/", {"tensor/", "autograd/", "optim/", "messages/", "actors/", "node/", "tests/", "samples/"}},
      {"boost/", {"tests/"}, true},
      {"cxxabi.h", {"autograd/nn/", "actors/"}, true},
      {"malloc.h", {"tensor/cpu/", "tests/"}},
      {"sanitizer/", {"tensor/cpu/"}},
  };
  return table;
}

/// Headers of the operating system: they stand for files, sockets, processes and time, so for the folder node/; files
/// of tensors are tensor/io/'s.
bool is_system_header(std::string_view name) {
  static const std::set<std::string_view> plain{"unistd.h", "signal.h",  "fcntl.h",   "poll.h",  "spawn.h", "string.h",
                                                "stdlib.h", "time.h",    "ifaddrs.h", "netdb.h", "pwd.h",   "sched.h",
                                                "dlfcn.h",  "pthread.h", "dirent.h",  "net/if.h"};
  return plain.contains(name) || name.starts_with("sys/") || name.starts_with("netinet/") ||
         name.starts_with("arpa/") || name.starts_with("linux/");
}

/// Tests that are about several files of their folder at once.
constexpr std::array<std::string_view, 28> kTestsOfSeveralFiles{
    "tests/actors/contexts/aborted_contexts_test.cc",         // contexts that others abort
    "tests/actors/contexts/reducers_without_memory_test.cc",  // reducers of passes that end without memory
    "tests/actors/executor_idle_test.cc",                     // threads of a pool that have no job, and work that waits
    "tests/actors/references/no_memory_test.cc",              // handles, owners and notices that get no memory
    "tests/actors/references/references_liars_test.cc",       // what the owner and holders of a value believe of nobody
    "tests/actors/sessions/router_liars_test.cc",             // what the router lets nobody send
    "tests/actors/sessions/session_lanes_test.cc",            // lanes and grants of both ends together
    "tests/actors/sessions/session_random_test.cc",  // two sessions, their lanes and grants over links that lose
    "tests/autograd/graph_task_test.cc",             // engine and boundaries as a distributed pass uses them
    "tests/messages/golden_test.cc",                 // the bytes of every message
    "tests/messages/hostile_test.cc",                // bytes that nobody should have sent
    "tests/models/backward_protocol_test.cc",        // the nodes of a distributed pass, under every order of messages
    "tests/models/leaving_protocol_test.cc",         // members that agree to leave, under every order of messages
    "tests/models/receiving_protocol_test.cc",       // threads that receive, under every order of their steps
    "tests/models/rref_protocol_test.cc",            // owner, handles and fork table under every order of messages
    "tests/models/turn_protocol_test.cc",            // callers of a value and their turns, under every order of events
    "tests/node/gloo_collective_memory_test.cc",     // members of a collective that get no memory
    "tests/node/hosts/remote_host_ends_test.cc",     // launcher, agents and what is between them
    "tests/node/hosts/remote_host_output_test.cc",   // the same
    "tests/node/launch/launcher_ends_test.cc",       // how interrupts, outputs and terminals end a run
    "tests/node/links/link_conformance_test.cc",     // one suite for every link
    "tests/node/links/shared_memory/memory_returns_test.cc",     // the memory of links that share, whatever happens
    "tests/node/links/shared_memory/shared_link_pulse_test.cc",  // pages of heartbeats that pass through links that
                                                                 // share
    "tests/node/links/shared_memory/shared_link_transports_test.cc",  // what links say of how they share, and why not
    "tests/optim/training_test.cc",                                   // rules and gradients together
    "tests/samples/readme_test.cc",                                   // every code block of README.md
    "tests/tensor/random_chains_test.cc",                             // all operations on views of all kinds
    "tests/tidy_test.cc",                                             // the tree
};

/// Folders of tests that mirror nothing.
constexpr std::array<std::string_view, 9> kTestsOfTheWhole{"tests/conformance/", "tests/scenarios/", "tests/process/",
                                                           "tests/chaos/",       "tests/fuzz/",      "tests/bench/",
                                                           "tests/install/",     "tests/reference/", "tests/mutants/"};

/// Files of a folder, at most, without those of the folders in it.
std::int64_t files_max(std::string_view folder) {
  constexpr std::array<std::string_view, 4> kLarge{"tensor/", "autograd/", "actors/", "node/"};
  return std::ranges::count(kLarge, folder) > 0 ? 50 : 90;
}

constexpr std::array<std::string_view, 4> kUnfinished{"TODO", "FIXME", "XXX", "HACK"};
constexpr std::array<std::string_view, 5> kSleeps{"sleep_for", "sleep_until", "sleep(", "usleep(", "nanosleep("};
constexpr std::array<std::string_view, 7> kDrawerNames{"util", "utils", "common", "helper", "helpers", "misc", "impl2"};

template <class Range>
bool begins_with_any(std::string_view text, const Range& beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return text.starts_with(beginning); });
}

/// Why `path` may not include the quoted `name`, or nothing.
std::string own_header_complaint(std::string_view path, std::string_view name) {
  const std::string from = folder_of(path);
  const std::string to = folder_of(name);
  if (!visible_from().contains(to)) return "not written from the root";
  if (!is_header(name)) return "not a header";
  if (begins_with_any(name, Paths{"tensor/cuda/", "tensor/kernels/"}) &&
      !begins_with_any(path, Paths{"tensor/", "tests/tensor/"}))
    return "kernels stay in tensor/";
  const auto visible = visible_from().find(from);
  if (visible == visible_from().end()) return from + " is not a folder with code";
  if (from == to || std::ranges::count(visible->second, to) > 0) return "";
  return from + "/ may not see " + to + "/";
}

/// Why `path` may not include <name>, or nothing.
std::string library_complaint(std::string_view path, std::string_view name) {
  const bool standard = name.find_first_of("./") == std::string_view::npos;
  if (standard) return "";
  if (is_system_header(name)) {
    if (begins_with_any(path, Paths{"node/", "tests/", "samples/"})) return "";
    if (path.starts_with("tensor/io/") && !is_header(path)) return "";
    if (path.starts_with("tensor/cuda/") && name == "dlfcn.h")
      return "";  // libraries that are loaded when they are needed
    if (path == "tensor/cpu/thread_team.cc" && name == "pthread.h") return "";  // threads as libgomp creates them
    if (path == "tensor/cpu/allocator.cc" && name == "sys/mman.h") return "";   // huge pages
    return "the operating system belongs to node/";
  }
  bool known = false;
  for (const Library& library : libraries()) {
    if (!name.starts_with(library.include)) continue;
    known = true;
    const bool any_file = library.in_headers || path.starts_with("tests/") || path.starts_with("samples/");
    if (begins_with_any(path, library.places) && (any_file || !is_header(path))) return "";
  }
  return known ? "this library has no business here" : "a library that tests/tidy_rules.cc does not know";
}

void append(Findings& all, Findings more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Finding& finding) {
  out << finding.path;
  if (finding.line > 0) out << ':' << finding.line;
  return out << ": " << finding.what;
}

Findings check_includes(const File& file) {
  Findings findings;
  if (!is_code(file.path)) return findings;
  for (const Include& include : includes_of(file)) {
    const std::string complaint =
        include.quoted ? own_header_complaint(file.path, include.name) : library_complaint(file.path, include.name);
    if (!complaint.empty())
      findings.push_back({file.path, include.line, "includes " + include.name + ": " + complaint});
  }
  return findings;
}

Findings check_length(const File& file) {
  const auto lines = std::ranges::count(file.text, '\n');
  const std::int64_t limit = is_header(file.path)                ? 300
                             : is_source(file.path)              ? 600
                             : file.path.ends_with("/README.md") ? 80
                                                                 : lines;
  if (lines <= limit) return {};
  return {{file.path, 0, std::to_string(lines) + " lines, at most " + std::to_string(limit) + " are allowed"}};
}

Findings check_columns(const File& file) {
  Findings findings;
  if (!is_code(file.path)) return findings;
  for_each_line(file, [&](int number, std::string_view line) {
    // Bytes that go on with a character of UTF-8 take no column.
    const auto columns =
        std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
    if (columns <= 120 || line.find("R\"") != std::string_view::npos) return;
    findings.push_back({file.path, number, std::to_string(columns) + " columns, at most 120 are allowed: ./dev fmt"});
  });
  return findings;
}

Findings check_name(const File& file) {
  std::istringstream words{std::string(stem_of(file.path))};
  for (std::string word; std::getline(words, word, '_');) {
    if (std::ranges::count(kDrawerNames, word) > 0)
      return {{file.path, 0, "named \"" + word + "\", not for a concept"}};
  }
  return {};
}

Findings check_words(const File& file) {
  Findings findings;
  // The rules and their test say such words in order to find them.
  if (!is_code(file.path) || file.path.starts_with("tests/tidy_")) return findings;
  const bool may_sleep = !file.path.starts_with("tests/") || file.path.starts_with("tests/bench/");
  for_each_line(file, [&](int number, std::string_view line) {
    if (line.starts_with("// ---")) findings.push_back({file.path, number, "is a banner"});
    for (const std::string_view word : kUnfinished) {
      if (says(line, word)) findings.push_back({file.path, number, "says " + std::string(word)});
    }
    if (std::string_view rest = line; is_header(file.path) && take(rest, "using") && take(rest, "namespace")) {
      findings.push_back({file.path, number, "opens a namespace in a header"});
    }
    for (const std::string_view call : kSleeps) {
      if (!may_sleep && says(line, call)) findings.push_back({file.path, number, "sleeps"});
    }
  });
  return findings;
}

namespace {

/// Whether `name`, as in "hello.its_token" or "bytes()", ends with a word for something secret.
bool is_secret_name(std::string_view name) {
  constexpr std::array<std::string_view, 4> kSecretWords{"secret", "token", "proof", "mac"};
  if (name.ends_with("()")) name.remove_suffix(2);
  if (name.ends_with('_')) name.remove_suffix(1);
  const auto before = std::ranges::find_if_not(name.rbegin(), name.rend(), [](char c) { return std::isalpha(c) != 0; });
  return std::ranges::count(kSecretWords, name.substr(static_cast<std::size_t>(name.rend() - before))) > 0;
}

bool is_name_part(char c) {
  return is_word_part(c) || c == '.' || c == '(' || c == ')' || c == '>' || c == '-' || c == ':';
}

/// Whether one side of an == or != in `line` is something secret.
bool compares_a_secret(std::string_view line) {
  for (const std::string_view comparison : {" == ", " != "}) {
    for (auto at = line.find(comparison); at != std::string_view::npos; at = line.find(comparison, at + 1)) {
      const std::string_view left = line.substr(0, at);
      std::string_view right = line.substr(at + comparison.size());
      right = right.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(right, is_name_part) - right.begin()));
      while (right.ends_with(')') && !right.ends_with("()")) right.remove_suffix(1);
      if (is_secret_name(left) || is_secret_name(right)) return true;
    }
  }
  const bool by_element = line.find("::equal(") != std::string_view::npos;
  return by_element && (line.find("secret") != std::string_view::npos || line.find("token") != std::string_view::npos ||
                        line.find("proof") != std::string_view::npos);
}

}  // namespace

Findings check_secret_comparisons(const File& file) {
  Findings findings;
  if (!is_code(file.path) || !file.path.starts_with("node/")) return findings;
  for_each_line(file, [&](int number, std::string_view line) {
    line = line.substr(0, line.find("//"));
    if (says(line, "memcmp")) findings.push_back({file.path, number, "memcmp: sodium_memcmp, or std::ranges::equal"});
    if (compares_a_secret(line)) findings.push_back({file.path, number, "compares a secret, not by sodium_memcmp"});
  });
  return findings;
}

Findings check_wall_clock(const File& file) {
  constexpr auto kOfTheLibrary =
      std::to_array<std::string_view>({"actors/", "autograd/", "messages/", "node/", "optim/", "tensor/"});
  // Keys expire at a date; logs and the doctor say when.
  constexpr auto kHaveDates = std::to_array<std::string_view>(
      {"node/audit/", "node/doctor/", "node/engines/key_file_node.cc", "node/joining/member_watch.cc",
       "node/joining/node_join.cc", "node/joining/node_options.cc", "node/keys/"});
  constexpr auto kWallClocks =
      std::to_array<std::string_view>({"chrono::system_clock", "system_clock::", "high_resolution_clock", "file_clock",
                                       "CLOCK_REALTIME", "gettimeofday(", "timespec_get(", "time(nullptr)",
                                       "time(NULL)", "time(0)", "pthread_cond_timedwait(", "sem_timedwait("});
  Findings findings;
  if (!is_code(file.path) || !begins_with_any(file.path, kOfTheLibrary) || begins_with_any(file.path, kHaveDates))
    return findings;
  for_each_line(file, [&](int number, std::string_view line) {
    const std::string_view code = line.substr(0, line.find("//"));
    const auto is_in_code = [code](std::string_view clock) { return code.find(clock) != std::string_view::npos; };
    if (const auto* clock = std::ranges::find_if(kWallClocks, is_in_code); clock != kWallClocks.end())
      findings.push_back({file.path, number, std::string(*clock) + ": it may be set; use the node's Clock"});
  });
  return findings;
}

Findings check_pragma_once(const File& file) {
  if (!is_header(file.path)) return {};
  bool seen = false;
  bool too_late = false;
  for_each_line(file, [&](int, std::string_view line) {
    if (line == "#pragma once") seen = true;
    if (!seen && !line.empty() && !line.starts_with("//")) too_late = true;
  });
  if (seen && !too_late) return {};
  return {{file.path, 0, "does not begin with #pragma once"}};
}

Findings check_test_mirrors(const std::vector<File>& tree) {
  Findings findings;
  std::set<std::pair<std::string, std::string>> concepts;  // folder, name
  for (const File& file : tree) {
    if (!is_code(file.path)) continue;
    concepts.emplace(folder_of(file.path), stem_of(file.path));
    const std::string_view parent = parent_of(file.path);
    if (!parent.empty()) concepts.emplace(folder_of(file.path), stem_of(parent.substr(0, parent.size() - 1)));
  }
  for (const File& file : tree) {
    if (!file.path.starts_with("tests/") || !file.path.ends_with("_test.cc")) continue;
    if (begins_with_any(file.path, kTestsOfTheWhole) || std::ranges::count(kTestsOfSeveralFiles, file.path) > 0)
      continue;
    const std::string folder = folder_of(std::string_view(file.path).substr(6));
    std::string name(stem_of(file.path));
    name.erase(name.size() - 5);
    if (!concepts.contains({folder, name})) {
      findings.push_back({file.path, 0, "mirrors no " + folder + "/**/" + name + ".{h,cc}"});
    }
  }
  return findings;
}

Findings check_listed(const std::vector<File>& tree) {
  std::map<std::string, std::string_view> lists;  // folder with '/' -> text of its CMakeLists.txt
  for (const File& file : tree) {
    if (file.path.ends_with("CMakeLists.txt")) lists.emplace(parent_of(file.path), file.text);
  }
  Findings findings;
  for (const File& file : tree) {
    if (!is_source(file.path)) continue;
    bool listed = false;
    for (std::string_view folder = parent_of(file.path); !listed;
         folder = parent_of(folder.substr(0, folder.size() - 1))) {
      const auto list = lists.find(std::string(folder));
      const std::string_view name = std::string_view(file.path).substr(folder.size());
      listed = list != lists.end() && list->second.find(name) != std::string_view::npos;
      if (folder.empty()) break;
    }
    if (!listed) findings.push_back({file.path, 0, "in no CMakeLists.txt"});
  }
  return findings;
}

namespace {

/// "RR-1" of the table row "| RR-1 | ..."; empty if the line is none of a rule.
std::string rule_of(std::string_view line) {
  if (!take(line, "|")) return {};
  const std::string_view id = line.substr(0, line.find(' '));
  const auto dash = id.find('-');
  const auto in = [](std::string_view text, std::string_view characters) {
    return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
  };
  const bool is_rule = dash != std::string_view::npos && in(id.substr(0, dash), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") &&
                       in(id.substr(dash + 1), "0123456789");
  return is_rule ? std::string(id) : std::string();
}

/// The words of a line that have the form of a rule's id, or of all ids of a family: "RR-1", "RR-n".
std::vector<std::string> ids_in(std::string_view line) {
  const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_part = [](char c) { return is_word_part(c) || c == '-'; };
  std::vector<std::string> ids;
  for (auto dash = line.find('-'); dash != std::string_view::npos; dash = line.find('-', dash + 1)) {
    if (dash < 2 || !is_capital(line[dash - 1]) || !is_capital(line[dash - 2]) || (dash > 2 && is_part(line[dash - 3])))
      continue;
    std::string_view number = line.substr(dash + 1);
    number = number.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(number, is_part) - number.begin()));
    if (number == "n" || (!number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos)) {
      ids.emplace_back(line.substr(dash - 2, number.size() + 3));
    }
  }
  return ids;
}

/// What stands in backquotes.
std::vector<std::string> quoted_in(std::string_view line) {
  std::vector<std::string> quoted;
  while (true) {
    const auto first = line.find('`');
    const auto last = first == std::string_view::npos ? first : line.find('`', first + 1);
    if (last == std::string_view::npos) return quoted;
    quoted.emplace_back(line.substr(first + 1, last - first - 1));
    line.remove_prefix(last + 1);
  }
}

/// Whether `name`, or what it begins with before "...", is one of `names`.
bool is_name_of(const std::set<std::string>& names, std::string_view name) {
  if (!name.ends_with("...")) return names.contains(std::string(name));
  name.remove_suffix(3);
  const auto at = names.lower_bound(std::string(name));
  return !name.empty() && at != names.end() && at->starts_with(name);
}

/// The names of all test cases of the tree.
std::set<std::string> test_cases(const std::vector<File>& tree) {
  constexpr std::string_view kMark = "TEST_CASE(";
  std::set<std::string> names;
  for (const File& file : tree) {
    if (!file.path.starts_with("tests/") || !file.path.ends_with(".cc")) continue;
    for (auto at = file.text.find(kMark); at != std::string::npos; at = file.text.find(kMark, at + 1)) {
      const auto first = at + kMark.size();
      names.insert(file.text.substr(first, file.text.find_first_of(",)", first) - first));
    }
  }
  return names;
}

}  // namespace

Findings check_protocols(const std::vector<File>& tree) {
  const auto file = std::ranges::find(tree, "actors/PROTOCOLS.md", &File::path);
  if (file == tree.end()) return {};
  const std::set<std::string> there = test_cases(tree);
  Findings findings;
  std::map<std::string, int> untested;  // rule -> its line
  std::set<std::string> rules;
  bool under_tests = false;
  bool has_tests = false;  // the last cells of this table
  for_each_line(*file, [&](int number, const std::string& line) {
    if (line.starts_with("## ")) under_tests = line.ends_with("Tests");
    if (line.starts_with("| id |")) has_tests = line.ends_with("| test |");
    const std::string rule = rule_of(line);
    if (rule.empty()) return;
    bool names_a_test = false;
    for (const std::string& quoted : quoted_in(line)) names_a_test = names_a_test || is_name_of(there, quoted);
    const auto cell = under_tests || has_tests ? line.rfind('|', line.size() - 2) : line.size();
    for (const std::string& quoted : quoted_in(std::string_view(line).substr(cell))) {
      if (!is_name_of(there, quoted))
        findings.push_back({file->path, number, rule + " names a test that is not there: " + quoted});
    }
    if (!under_tests) {
      if (!rules.insert(rule).second) findings.push_back({file->path, number, "a second row of " + rule});
      if (!names_a_test) untested.emplace(rule, number);
    } else if (!rules.contains(rule)) {
      findings.push_back({file->path, number, "tests of no rule: " + rule});
    } else if (names_a_test) {
      untested.erase(rule);
    }
  });
  for (const auto& [rule, number] : untested)
    findings.push_back({file->path, number, "no test of " + rule + " is named"});
  return findings;
}

Findings check_protocol_places(const std::vector<File>& tree) {
  const auto protocols = std::ranges::find(tree, "actors/PROTOCOLS.md", &File::path);
  if (protocols == tree.end()) return {};
  const auto is_in_code = [&](std::string_view name) {
    return std::ranges::any_of(tree, [&](const File& file) {
      return is_code(file.path) && !file.path.starts_with("tests/") && says(file.text, name);
    });
  };
  Findings findings;
  bool has_places = false;  // the last cells of this table
  for_each_line(*protocols, [&](int number, std::string_view line) {
    if (line.starts_with("| id |")) has_places = line.ends_with("| where |");
    if (!has_places || rule_of(line).empty()) return;
    for (const std::string& name : quoted_in(line.substr(line.rfind('|', line.size() - 2)))) {
      const auto scope = name.rfind("::");
      if (!is_in_code(scope == std::string::npos ? name : name.substr(scope + 2)))
        findings.push_back({protocols->path, number, rule_of(line) + " names what is not there: " + name});
    }
  });
  return findings;
}

Findings check_rule_ids(const std::vector<File>& tree) {
  const auto protocols = std::ranges::find(tree, "actors/PROTOCOLS.md", &File::path);
  if (protocols == tree.end()) return {};
  std::set<std::string> rules;
  for_each_line(*protocols, [&](int, std::string_view line) { rules.insert(rule_of(line)); });
  Findings findings;
  for (const File& file : tree) {
    // The rules of the house and their test make ids up.
    if (file.path.starts_with("tests/tidy_") || (!is_code(file.path) && !file.path.ends_with(".md"))) continue;
    for_each_line(file, [&](int number, std::string_view line) {
      for (const std::string& id : ids_in(line)) {
        if (!rules.contains(id)) findings.push_back({file.path, number, id + " is no rule of actors/PROTOCOLS.md"});
      }
    });
  }
  return findings;
}

Findings check_folders(const std::vector<File>& tree) {
  std::map<std::string_view, std::int64_t> files;
  for (const File& file : tree) ++files[parent_of(file.path)];
  Findings findings;
  for (const auto& [folder, count] : files) {
    if (count <= files_max(folder)) continue;
    findings.push_back(
        {std::string(folder), 0,
         std::to_string(count) + " files, at most " + std::to_string(files_max(folder)) + " are allowed"});
  }
  return findings;
}

Findings check_libraries(const std::vector<File>& tree) {
  Findings findings;
  for (const Library& library : libraries()) {
    for (const std::string_view place : library.places) {
      const bool is_used = std::ranges::any_of(tree, [&](const File& file) {
        if (!is_code(file.path) || !file.path.starts_with(place)) return false;
        return std::ranges::any_of(includes_of(file), [&](const Include& include) {
          return !include.quoted && include.name.starts_with(library.include);
        });
      });
      if (!is_used) findings.push_back({std::string(place), 0, "includes no " + std::string(library.include)});
    }
  }
  return findings;
}

Findings check_tree(const std::vector<File>& tree) {
  Findings findings;
  for (const File& file : tree) {
    for (const auto check : {check_includes, check_length, check_columns, check_name, check_words, check_pragma_once,
                             check_secret_comparisons, check_wall_clock}) {
      append(findings, check(file));
    }
  }
  append(findings, check_test_mirrors(tree));
  append(findings, check_listed(tree));
  append(findings, check_protocols(tree));
  append(findings, check_protocol_places(tree));
  append(findings, check_rule_ids(tree));
  append(findings, check_roots(tree));
  append(findings, check_installed(tree));
  append(findings, check_rooms(tree));
  append(findings, check_knots(tree));
  append(findings, check_folders(tree));
  append(findings, check_libraries(tree));
  return findings;
}

}  // namespace tidy
