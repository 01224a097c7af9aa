// Applies the tidy rules to the tree, and to small invented trees, so that each rule is seen to fail.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/tidy_rules.h"

namespace {

namespace fs = std::filesystem;
using tidy::File;
using tidy::Finding;
using tidy::Findings;

std::string contents_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns all files of this repository that have rules: the code folders with their notes and lists, the umbrella
/// header, and what names the headers that are installed.
std::vector<File> load_tree(const fs::path& root) {
  std::vector<File> tree;
  for (const char* file : {"troupe.h", "cmake/TroupeInstall.cmake"}) tree.push_back({file, contents_of(root / file)});
  for (const char* folder : {"tensor", "autograd", "optim", "messages", "actors", "node", "samples", "tests"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file()) continue;
      tree.push_back({entry.path().lexically_relative(root).generic_string(), contents_of(entry.path())});
    }
  }
  return tree;
}

/// Returns the findings of the include rules for one file, without their places.
std::vector<std::string> complaints(const std::string& path, const std::string& text) {
  std::vector<std::string> result;
  for (const Finding& finding : tidy::check_includes({path, text})) result.push_back(finding.what);
  return result;
}

/// Returns the README.md of `floor` with a table of its rooms, whose first row is line 5.
File rooms(const std::string& floor, const std::vector<std::string>& rows) {
  std::string text = "# " + floor + "\n\n| room | its task | may include | others may include |\n|---|---|---|---|\n";
  for (const std::string& row : rows) text += row + "\n";
  return {floor + "README.md", text};
}

std::string lines(int count) { return std::string(static_cast<std::size_t>(count), '\n'); }

}  // namespace

BOOST_TEST_DONT_PRINT_LOG_VALUE(Findings)

BOOST_AUTO_TEST_SUITE(tidy_tree)

BOOST_AUTO_TEST_CASE(the_tree_keeps_every_rule) {
  const std::vector<File> tree = load_tree(TROUPE_SOURCE_DIR);
  BOOST_TEST_REQUIRE(tree.size() > 100U);
  for (const Finding& finding : tidy::check_tree(tree)) BOOST_ERROR(finding);
}

// samples/kubernetes/Dockerfile copies the tree into a layer. `troupe keys` writes into keys/ beside it.
BOOST_AUTO_TEST_CASE(an_image_gets_no_keys_no_history_and_nothing_that_was_built_here) {
  const std::string left_out = "\n" + contents_of(fs::path(TROUPE_SOURCE_DIR) / ".dockerignore");
  for (const std::string each : {"build", "keys", "**/*.key", ".git"}) {
    BOOST_TEST(left_out.find("\n" + each + "\n") != std::string::npos, each);
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(tidy_rules)

BOOST_AUTO_TEST_CASE(a_folder_sees_only_the_folders_below_it) {
  using Strings = std::vector<std::string>;
  const auto per_element = boost::test_tools::per_element();
  BOOST_TEST(complaints("actors/a.cc", "#include \"messages/rref.h\"\n#include \"actors/b.h\"\n").empty());
  BOOST_TEST(
      complaints("tests/node/a_test.cc", "#include \"node/a.h\"\n#include \"tests/support/eventually.h\"\n").empty());
  BOOST_TEST(complaints("optim/a.cc", "#include \"autograd/b.h\"") ==
                 Strings{"includes autograd/b.h: optim/ may not see autograd/"},
             per_element);
  BOOST_TEST(complaints("autograd/a.h", "  #  include \"optim/b.h\"") ==
                 Strings{"includes optim/b.h: autograd/ may not see optim/"},
             per_element);
  BOOST_TEST(
      complaints("actors/a.cc", "#include \"node/b.h\"") == Strings{"includes node/b.h: actors/ may not see node/"},
      per_element);
  BOOST_TEST(
      complaints("node/a.cc", "#include \"troupe.h\"") == Strings{"includes troupe.h: node/ may not see troupe.h/"},
      per_element);
  BOOST_TEST(complaints("samples/a.cc", "#include \"tests/b.h\"") ==
                 Strings{"includes tests/b.h: samples/ may not see tests/"},
             per_element);
}

BOOST_AUTO_TEST_CASE(own_includes_are_headers_named_from_the_root) {
  BOOST_TEST(complaints("actors/a.cc", "#include \"b.h\"").size() == 1U);
  BOOST_TEST(complaints("actors/a.cc", "#include \"../tensor/b.h\"").size() == 1U);
  BOOST_TEST(complaints("actors/a.cc", "#include \"actors/b.cc\"").size() == 1U);
  BOOST_TEST(complaints("autograd/a.cc", "#include \"tensor/cuda/stream.h\"").size() == 1U);
  BOOST_TEST(complaints("tensor/device.cc", "#include \"tensor/cuda/stream.h\"").empty());
}

BOOST_AUTO_TEST_CASE(each_library_is_seen_in_its_place_only) {
  const auto refused = [](const char* path, const std::string& name) {
    return !complaints(path, "#include <" + name + ">").empty();
  };
  BOOST_TEST(!refused("actors/core/caf.h", "caf/all.hpp"));
  BOOST_TEST(!refused("actors/sessions/router_actor.cc", "caf/all.hpp"));
  BOOST_TEST(refused("actors/sessions/router_actor.h", "caf/all.hpp"));
  BOOST_TEST(refused("messages/codec.cc", "caf/all.hpp"));
  BOOST_TEST(!refused("node/links/zmq_link_socket.cc", "zmq.hpp"));
  BOOST_TEST(refused("node/links/zmq_link.h", "zmq.hpp"));
  BOOST_TEST(refused("node/node.cc", "zmq.h"));
  BOOST_TEST(!refused("messages/archive.h", "cereal/cereal.hpp"));
  BOOST_TEST(refused("actors/rref.h", "cereal/types/vector.hpp"));
  BOOST_TEST(refused("node/config/config.h", "toml++/toml.h"));
  BOOST_TEST(refused("actors/scope.cc", "toml++/toml.h"));
  BOOST_TEST(refused("actors/scope.cc", "CLI/CLI.hpp"));
  BOOST_TEST(!refused("tensor/cuda/stream.cu", "cuda_runtime.h"));
  BOOST_TEST(refused("tensor/cpu/gemm.cc", "cuda_runtime.h"));
  BOOST_TEST(refused("tensor/ops.h", "fmt/format.h"));
  BOOST_TEST(refused("actors/sessions/session.cc", "sys/socket.h"));
  BOOST_TEST(refused("tensor/cpu/gemm.cc", "dlfcn.h"));
  BOOST_TEST(!refused("tensor/cuda/cublas.cc", "dlfcn.h"));
  BOOST_TEST(!refused("node/links/zmq_listener.cc", "sys/socket.h"));
  BOOST_TEST(refused("node/node.cc", "curl/curl.h"));
  BOOST_TEST(!refused("tensor/shape.h", "vector"));
}

BOOST_AUTO_TEST_CASE(long_files_are_found) {
  BOOST_TEST(tidy::check_length({"a/b.h", lines(300)}).empty());
  BOOST_TEST(tidy::check_length({"a/b.h", lines(301)}).size() == 1U);
  BOOST_TEST(tidy::check_length({"a/b.cc", lines(600)}).empty());
  BOOST_TEST(tidy::check_length({"a/b.cc", lines(601)}).size() == 1U);
  BOOST_TEST(tidy::check_length({"a/README.md", lines(81)}).size() == 1U);
  BOOST_TEST(tidy::check_length({"a/WIRE.md", lines(1000)}).empty());
}

BOOST_AUTO_TEST_CASE(long_lines_of_code_are_found) {
  const std::string full(120, 'x');
  BOOST_TEST(tidy::check_columns({"a/b.cc", full + "\n"}).empty());
  BOOST_TEST(tidy::check_columns({"a/b.cc", "\n" + full + "x\n"}) ==
             (Findings{{"a/b.cc", 2, "121 columns, at most 120 are allowed: ./dev fmt"}}));
  BOOST_TEST(tidy::check_columns({"a/b.cu", full + "x\n"}).size() == 1U);
  BOOST_TEST(tidy::check_columns({"a/b.cc", full.substr(1) + "\u00e9\n"}).empty());
  BOOST_TEST(tidy::check_columns({"a/b.cc", "R\"(" + full + ")\"\n"}).empty());
  BOOST_TEST(tidy::check_columns({"a/b.md", full + "x\n"}).empty());
}

BOOST_AUTO_TEST_CASE(drawers_of_odds_and_ends_are_found) {
  for (const char* path : {"a/utils.h", "a/test_helpers.h", "common.cc", "a/b/misc.cc", "a/session_impl2.cc"}) {
    BOOST_TEST(tidy::check_name({path, ""}).size() == 1U, path);
  }
  BOOST_TEST(tidy::check_name({"a/commonplace.h", ""}).empty());
}

BOOST_AUTO_TEST_CASE(marks_of_unfinished_work_banners_sleeps_and_open_namespaces_are_found) {
  BOOST_TEST(tidy::check_words({"a/b.cc", "// --- parts\n"}).size() == 1U);
  const Findings expected{{"a/b.cc", 2, "says TODO"}};
  BOOST_CHECK(tidy::check_words({"a/b.cc", "int a;\n// TODO: b\n"}) == expected);
  BOOST_TEST(tidy::check_words({"a/b.cc", "mkdtemp(\"a-XXXXXX\")"}).empty());
  BOOST_TEST(tidy::check_words({"a/b.h", "using namespace std;"}).size() == 1U);
  BOOST_TEST(tidy::check_words({"a/b.cc", "using namespace std::literals;"}).empty());
  BOOST_TEST(tidy::check_words({"tests/a/b_test.cc", "std::this_thread::sleep_for(1s);"}).size() == 1U);
  BOOST_TEST(tidy::check_words({"tests/a/b_test.cc", "  usleep(10);"}).size() == 1U);
  BOOST_TEST(tidy::check_words({"tests/a/b_test.cc", "run(\"sleep 10\");"}).empty());
}

BOOST_AUTO_TEST_CASE(comparisons_whose_time_tells_of_a_secret_are_found, *boost::unit_test::label("S10")) {
  for (const char* line : {"if (it.token == hello.token) return;", "return own_proof != said;",
                           "if (mac_ == said) x();", "find(all, [&](auto& o) { return o->token() == what; })",
                           "return a == this->secret;", "if (std::memcmp(a, b, 8) == 0) return;",
                           "return std::ranges::equal(proof, said);", "return (left == right.its_token);"}) {
    BOOST_TEST(tidy::check_secret_comparisons({"node/links/a.cc", line}).size() == 1U, line);
    BOOST_TEST(tidy::check_secret_comparisons({"actors/a.cc", line}).empty(), line);
  }
  for (const char* line :
       {"return sodium_memcmp(proof.data(), said.data(), 8) == 0;", "if (bytes.size() == kToken) x();",
        "return to.its_token.matches(hello.token);", "if (secrets_count == 2) x();", "x();  // token == token",
        "if (secret_.size() != 32) x();", "if (tokens == 3) x();"}) {
    BOOST_TEST(tidy::check_secret_comparisons({"node/links/a.cc", line}).empty(), line);
  }
}

BOOST_AUTO_TEST_CASE(permission_to_include_a_library_that_nobody_uses_is_found) {
  const auto is_reported = [](const Findings& findings) {
    return std::ranges::count(findings, Finding{"tensor/io/", 0, "includes no zip.h"}) > 0;
  };
  BOOST_TEST(is_reported(tidy::check_libraries({{"tensor/io/a.cc", "#include <zlib.h>\n"}})));
  BOOST_TEST(!is_reported(tidy::check_libraries({{"tensor/io/a.cc", "#include <zip.h>\n"}})));
}

// So no step of the wall clock makes a time-out or a death.
BOOST_AUTO_TEST_CASE(time_that_may_be_set_is_found_where_it_would_decide, *boost::unit_test::label("fault-F16")) {
  for (const char* line :
       {"const auto now = std::chrono::system_clock::now();", "using std::chrono::system_clock;",
        "const auto now = system_clock::now();", "const auto now = std::chrono::file_clock::now();",
        "clock_gettime(CLOCK_REALTIME, &now);", "timespec_get(&now, TIME_UTC);", "const auto now = std::time(nullptr);",
        "const auto now = time(NULL);", "const auto now = time(0);",
        "pthread_cond_timedwait(&condition, &mutex, &due);", "sem_timedwait(&semaphore, &due);"}) {
    BOOST_TEST(tidy::check_wall_clock({"actors/sessions/session.cc", line}).size() == 1U, line);
    BOOST_TEST(tidy::check_wall_clock({"node/links/a.h", line}).size() == 1U, line);
    BOOST_TEST(tidy::check_wall_clock({"node/keys/a.cc", line}).empty(), line);
    BOOST_TEST(tidy::check_wall_clock({"tests/a.cc", line}).empty(), line);
  }
  for (const char* line : {"#include \"node/system_clock.h\"", "auto clock = make_system_clock();",
                           "const auto now = std::chrono::steady_clock::now();", "run();  // not CLOCK_REALTIME"}) {
    BOOST_TEST(tidy::check_wall_clock({"node/links/a.cc", line}).empty(), line);
  }
}

BOOST_AUTO_TEST_CASE(a_header_without_pragma_once_at_its_top_is_found) {
  BOOST_TEST(tidy::check_pragma_once({"a/b.h", "// What it is.\n\n#pragma once\nint a;\n"}).empty());
  BOOST_TEST(tidy::check_pragma_once({"a/b.h", "// #pragma once\n"}).size() == 1U);
  BOOST_TEST(tidy::check_pragma_once({"a/b.h", "#include <vector>\n#pragma once\n"}).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_test_that_mirrors_nothing_is_found) {
  const std::vector<File> tree{{"node/sim/clock.h", ""},         {"node/log.cc", ""},
                               {"tests/node/clock_test.cc", ""}, {"tests/node/sim/sim_test.cc", ""},
                               {"tests/node/log_test.cc", ""},   {"tests/scenarios/d4_test.cc", ""},
                               {"tests/actors/log_test.cc", ""}};
  const Findings expected{{"tests/actors/log_test.cc", 0, "mirrors no actors/**/log.{h,cc}"}};
  BOOST_CHECK(tidy::check_test_mirrors(tree) == expected);
}

BOOST_AUTO_TEST_CASE(a_knot_of_too_many_rooms_is_found) {
  // r0 -> r1 -> ... -> r7 -> r0, by a header or a source. Files that lead into or out of the cycle are not part of it.
  std::vector<File> tree{{"optim/away.h", ""},
                         {"optim/there.cc", "#include \"optim/r0.h\"\n#include \"optim/there.h\"\n"}};
  for (int i = 0; i < 8; ++i) {
    const std::string next = "#include \"optim/r" + std::to_string((i + 1) % 8) + ".h\"\n#include \"optim/away.h\"\n";
    const std::string name = "optim/r" + std::to_string(i);
    tree.push_back({name + ".h", i % 2 == 0 ? next : ""});
    tree.push_back({name + ".cc", i % 2 == 0 ? "" : next});
  }
  const auto findings = tidy::check_knots(tree);
  BOOST_REQUIRE(findings.size() == 1U);
  BOOST_TEST(findings[0].path == "optim/r0");
  BOOST_TEST(findings[0].what ==
             "8 rooms include each other in a circle, at most 7 may: optim/r0 optim/r1 optim/r2 optim/r3 optim/r4 "
             "optim/r5 optim/r6 optim/r7");
  tree.back().text.clear();
  BOOST_TEST(tidy::check_knots(tree).empty());
}

BOOST_AUTO_TEST_CASE(a_source_that_is_never_compiled_is_found) {
  const std::vector<File> tree{{"node/CMakeLists.txt", "SOURCES sim/clock.cc node.cc"},
                               {"node/sim/clock.cc", ""},
                               {"node/sim/link.cc", ""},
                               {"node/node.cc", ""}};
  const Findings expected{{"node/sim/link.cc", 0, "in no CMakeLists.txt"}};
  BOOST_CHECK(tidy::check_listed(tree) == expected);
}

BOOST_AUTO_TEST_CASE(a_rule_of_a_protocol_without_a_test_is_found) {
  const std::string protocols =
      "| AB-1 | This. |\n| AB-2 | That. |\n| AB-3 | `More`. |\n| AB-4 | Its own. | `this_is...` |\n| A-B | no rule |\n"
      "## 9. Tests\n| AB-1 | `this_is_so`, `and_so` |\n| AB-2 | `that_is_not_there` |\n| AB-9 | `and_so` |\n";
  const std::vector<File> tree{
      {"actors/PROTOCOLS.md", protocols},
      {"tests/a/b_test.cc", "BOOST_AUTO_TEST_CASE(this_is_so) {}\nBOOST_FIXTURE_TEST_CASE(and_so, F) {}"}};
  const Findings expected{{"actors/PROTOCOLS.md", 8, "AB-2 names a test that is not there: that_is_not_there"},
                          {"actors/PROTOCOLS.md", 9, "tests of no rule: AB-9"},
                          {"actors/PROTOCOLS.md", 2, "no test of AB-2 is named"},
                          {"actors/PROTOCOLS.md", 3, "no test of AB-3 is named"}};
  BOOST_CHECK(tidy::check_protocols(tree) == expected);
}

BOOST_AUTO_TEST_CASE(a_test_that_is_not_there_and_a_second_row_of_a_rule_are_found) {
  const std::string protocols =
      "| id | rule | where |\n| AB-1 | `This`, tested by `it_is_so`. | `that` |\n"
      "| id | rule | test |\n| AB-2 | `That`. | `it_is_so`, `it_was_so...` |\n| AB-1 | `it_is_so` | |\n";
  const std::vector<File> tree{{"actors/PROTOCOLS.md", protocols},
                               {"tests/a/b_test.cc", "BOOST_AUTO_TEST_CASE(it_is_so) {}"}};
  const Findings expected{{"actors/PROTOCOLS.md", 4, "AB-2 names a test that is not there: it_was_so..."},
                          {"actors/PROTOCOLS.md", 5, "a second row of AB-1"}};
  BOOST_CHECK(tidy::check_protocols(tree) == expected);
}

BOOST_AUTO_TEST_CASE(a_place_of_a_rule_that_is_not_there_is_found) {
  const std::string protocols =
      "| id | rule | where |\n| AB-1 | `Never`. | `ended`, `Table::settle`, `Table::settled` |\n| AB-2 | `x` | "
      "explored |\n"
      "| id | rule |\n| AB-3 | `Never` |\n| id | rule | where |\n| AB-4 | It. | `of_a_test` |\n";
  const std::vector<File> tree{{"actors/PROTOCOLS.md", protocols},
                               {"actors/a.h", "bool ended();\nvoid Table::settle() { settled_ = true; }\n"},
                               {"tests/actors/a_test.cc", "void of_a_test();\n"}};
  const Findings expected{{"actors/PROTOCOLS.md", 2, "AB-1 names what is not there: Table::settled"},
                          {"actors/PROTOCOLS.md", 7, "AB-4 names what is not there: of_a_test"}};
  BOOST_CHECK(tidy::check_protocol_places(tree) == expected);
}

BOOST_AUTO_TEST_CASE(a_name_of_a_rule_that_there_is_not_is_found) {
  const std::vector<File> tree{
      {"actors/PROTOCOLS.md", "| AB-1 | This (why AB-7). |\n"},
      {"actors/a.h", "/// As AB-1 and AB-12 say, (AB-2).\n// CD-1: UTF-8, A-1, A_AB-2, AB-1a, AB-x, 2-AB-3\n"},
      {"node/NOTE.md", "invariants AB-n\n"},
      {"node/CMakeLists.txt", "# AB-9\n"}};
  const Findings expected{{"actors/PROTOCOLS.md", 1, "AB-7 is no rule of actors/PROTOCOLS.md"},
                          {"actors/a.h", 1, "AB-12 is no rule of actors/PROTOCOLS.md"},
                          {"actors/a.h", 1, "AB-2 is no rule of actors/PROTOCOLS.md"},
                          {"actors/a.h", 2, "CD-1 is no rule of actors/PROTOCOLS.md"},
                          {"node/NOTE.md", 1, "AB-n is no rule of actors/PROTOCOLS.md"}};
  BOOST_CHECK(tidy::check_rule_ids(tree) == expected);
}

BOOST_AUTO_TEST_CASE(kernels_stay_in_tensor) {
  using Strings = std::vector<std::string>;
  for (const std::string& name : {std::string("tensor/kernels/update.h"), std::string("tensor/cuda/stream.h")}) {
    const std::string include = "#include \"" + name + "\"\n";
    BOOST_CHECK(complaints("tensor/ops/update.cc", include) == Strings());
    BOOST_CHECK(complaints("tests/tensor/update_test.cc", include) == Strings());
    for (const char* path : {"optim/sgd.cc", "autograd/record.h", "tests/optim/sgd_test.cc"})
      BOOST_CHECK(complaints(path, include) == Strings{"includes " + name + ": kernels stay in tensor/"});
  }
}

BOOST_AUTO_TEST_CASE(a_room_that_includes_another_without_permission_is_found) {
  const std::vector<File> tree{
      rooms("tensor/", {"| `ops/` | checks | `cpu/` | everything |", "| `cpu/` | computes | nothing | `lanes` |"}),
      {"tensor/ops.h", "#include \"tensor/ops/nn.h\"\n#include \"tensor/cpu/lanes.h\"\n"},
      {"tensor/ops/nn.h", "#include \"tensor/cpu/lanes.h\"\n#include \"tensor/ops/pool.h\"\n"},
      {"tensor/cpu/lanes.h", "#include \"tensor/tensor.h\"\n"},
      {"tensor/cpu/gemm.cc", "#include <span>\n#include \"tensor/ops/nn.h\"\n#include \"tensor/ops.h\"\n"},
      {"tests/tensor/cpu/gemm_test.cc", "#include \"tensor/ops/nn.h\"\n"}};
  const std::string why = ": tensor/cpu/ may not include ops/, says tensor/README.md:6";
  const Findings expected{{"tensor/cpu/gemm.cc", 2, "includes tensor/ops/nn.h" + why},
                          {"tensor/cpu/gemm.cc", 3, "includes tensor/ops.h" + why}};
  BOOST_CHECK(tidy::check_rooms(tree) == expected);
}

BOOST_AUTO_TEST_CASE(a_header_that_is_for_its_own_room_only_is_found_where_others_include_it) {
  const std::string all = "#include \"actors/calls/serve.h\"\n#include \"actors/calls/inner.h\"\n";
  const std::vector<File> tree{rooms("actors/", {"| `calls/` | calls | nothing | everything but `inner` |",
                                                 "| `core/` | the node | `calls/` | `node` |",
                                                 "| `core/assembly` | its parts | everything | nothing |"}),
                               {"actors/calls/serve.h", all},
                               {"actors/calls/inner.h", ""},
                               {"actors/core/node.h", all},
                               {"actors/core/assembly.cc", all},
                               {"actors/scope.cc", all},
                               {"node/node.cc", "#include \"actors/core/node.h\"\n" + all},
                               {"samples/a.cc", "#include \"actors/core/assembly.h\"\n"},
                               {"tests/actors/calls/a_test.cc", all}};
  const std::string inner = "includes actors/calls/inner.h, which is for actors/calls/ only, says actors/README.md:5";
  const Findings expected{
      {"actors/core/node.h", 2, inner},
      {"node/node.cc", 3, inner},
      {"samples/a.cc", 1, "includes actors/core/assembly.h, which is for actors/core/ only, says actors/README.md:6"}};
  BOOST_CHECK(tidy::check_rooms(tree) == expected);
}

BOOST_AUTO_TEST_CASE(permission_to_include_a_room_or_its_header_that_nobody_uses_is_found) {
  const std::vector<File> tree{rooms("node/", {"| `a/` | one | `b/`, `b/c/` | `own`, `tested` |",
                                               "| `b/` | two | everything but `d/` | everything but `e` |",
                                               "| `b/c/` | three | nothing | everything |"}),
                               {"node/a/own.h", "#include \"node/b/x.h\"\n"},
                               {"node/a/y.cc", "#include \"node/a/own.h\"\n"},
                               {"node/node.cc", "#include \"node/a/own.h\"\n#include \"node/b/c/z.h\"\n"},
                               {"node/b/x.h", ""},
                               {"node/b/c/z.h", ""},
                               {"tests/node/a_test.cc", "#include \"node/a/tested.h\"\n"}};
  const Findings expected{{"node/README.md", 5, "node/a/ includes nothing of b/c/: strike it"},
                          {"node/README.md", 5, "nothing outside node/a/ includes own: strike it"},
                          {"node/README.md", 5, "nothing outside node/a/ includes tested: strike it"},
                          {"node/README.md", 6, "excepts what is not there: node/d/"},
                          {"node/README.md", 6, "excepts what is not there: node/b/e"}};
  BOOST_CHECK(tidy::check_rooms(tree) == expected);
}

BOOST_AUTO_TEST_CASE(a_room_without_a_row_and_a_row_without_a_room_are_found) {
  const std::string form = "is no row of rooms: names in backquotes, nothing, everything (but)";
  const std::vector<File> tree{
      rooms("node/",
            {"| `a/` | one | nothing | everything |", "| `a/` | one | nothing | everything |",
             "| `old/` | two | nothing | nothing |", "| `b/` | three | nothing: `c/` | nothing |",
             "| `b/` | three | `c/` `d/` | nothing |", "| `b/` | three | nothing |", "", "| `b/` | of no table |"}),
      {"node/a/x.h", ""},
      {"node/b/y.cc", ""},
      {"node/b/z.cc", ""},
      {"autograd/nn/w.h", ""},
      {"samples/s/v.h", ""}};
  const Findings expected{{"node/README.md", 6, "is a second row of node/a/"},
                          {"node/README.md", 8, form},
                          {"node/README.md", 9, form},
                          {"node/README.md", 10, form},
                          {"node/README.md", 0, "has no row for the room node/b/"},
                          {"autograd/README.md", 0, "has no row for the room autograd/nn/"},
                          {"node/README.md", 7, "names what is not there: node/old/"}};
  BOOST_CHECK(tidy::check_rooms(tree) == expected);
}

BOOST_AUTO_TEST_CASE(a_folder_with_too_many_files_of_its_own_is_found) {
  const auto folder = [](const std::string& name, int count) {
    std::vector<File> tree{{name + "cpu/other.h", ""}};
    for (int i = 0; i < count; ++i) tree.push_back({name + std::to_string(i) + ".h", ""});
    return tree;
  };
  BOOST_CHECK(tidy::check_folders(folder("tensor/", 50)) == Findings());
  const Findings expected{{"tensor/", 0, "51 files, at most 50 are allowed"}};
  BOOST_CHECK(tidy::check_folders(folder("tensor/", 51)) == expected);
  BOOST_CHECK(tidy::check_folders(folder("tensor/ops/", 90)) == Findings());
  const Findings nested{{"tensor/ops/", 0, "91 files, at most 90 are allowed"}};
  BOOST_CHECK(tidy::check_folders(folder("tensor/ops/", 91)) == nested);
}

BOOST_AUTO_TEST_CASE(a_library_reached_from_the_umbrella_is_found) {
  const std::vector<File> tree{{"troupe.h", "#include \"node/node.h\"\n#include \"messages/archive.h\"\n"},
                               {"node/node.h", "#include <memory>\n#include \"actors/core/caf.h\"\n"},
                               {"messages/archive.h", "#include <cereal/cereal.hpp>\n"},
                               {"actors/core/caf.h", "#include <caf/all.hpp>\n"}};
  const Findings expected{{"actors/core/caf.h", 1, "troupe.h reaches caf/all.hpp"}};
  BOOST_CHECK(tidy::check_public(tree, "troupe.h") == expected);
  BOOST_TEST(tidy::check_public({}, "troupe.h").size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_header_that_a_sample_includes_and_no_user_finds_is_found) {
  const std::vector<File> tree{
      {"cmake/TroupeInstall.cmake", "set(roots troupe.h node/sim/world.h)\")\n"},
      {"troupe.h", "#include \"node/node.h\"\n"},
      {"node/node.h", "#include \"actors/scope.h\"\n"},
      {"samples/a.cc", "#include <map>\n#include \"actors/scope.h\"\n#include \"actors/rref.h\"\n"},
      {"samples/b/c.h", "#include \"node/sim/world.h\"\n#include \"samples/a.h\"\n"},
      {"tests/a.cc", "#include \"actors/rref.h\"\n"}};
  const Findings expected{{"samples/a.cc", 3, "includes actors/rref.h, which is not installed"}};
  BOOST_CHECK(tidy::check_installed(tree) == expected);
  BOOST_TEST(tidy::check_installed({tree[1], tree[3]}).size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_internal_header_reached_from_the_umbrella_is_found) {
  // All that is on the list, in one header; what users open is not.
  std::string list = "#include \"tensor/ops/sort.h\"\n";
  for (const tidy::Finding& unused : tidy::check_internals({{"troupe.h", ""}}, "troupe.h")) {
    const std::string_view header = std::string_view(unused.what).substr(std::string_view("does not reach ").size());
    list += "#include \"" + std::string(header.substr(0, header.find(':'))) + "\"\n";
  }
  const std::vector<File> tree{{"troupe.h", "#include \"node/node.h\"\n"}, {"node/node.h", list}};
  BOOST_CHECK(tidy::check_internals(tree, "troupe.h").empty());
  const std::vector<File> more{tree[0], {"node/node.h", "#include \"actors/core/caf.h\"\n" + list}};
  const Findings expected{{"node/node.h", 1, "troupe.h reaches actors/core/caf.h, which is internal"}};
  BOOST_CHECK(tidy::check_internals(more, "troupe.h") == expected);
  BOOST_TEST(tidy::check_internals({}, "troupe.h").size() == 1U);
}

BOOST_AUTO_TEST_CASE(what_any_installed_root_reaches_is_found) {
  const auto findings = [](std::string roots, const std::string& port) {
    const std::vector<File> tree{{"cmake/TroupeInstall.cmake", "set(roots " + std::move(roots) + ")\")\n"},
                                 {"node/port.h", port},
                                 {"tensor/format.h", "#include <fmt/core.h>\n"},
                                 {"node/links/secret.h", ""}};
    std::vector<std::string> found;
    for (const Finding& finding : tidy::check_roots(tree)) {
      if (finding.what.find("strike") == std::string::npos) found.push_back(finding.what);
    }
    return found;
  };
  using Strings = std::vector<std::string>;
  const std::string both = "tensor/format.h node/port.h";
  BOOST_CHECK(findings(both, "#include \"node/links/secret.h\"\n") == Strings());  // as troupe.h does
  BOOST_CHECK(findings(both, "#include <zmq.h>\n") == Strings{"node/port.h reaches zmq.h"});
  BOOST_CHECK(findings(both, "#include \"tensor/format.h\"\n") == Strings{"node/port.h reaches fmt/core.h"});
  BOOST_CHECK(findings(both, "#include \"actors/core/caf.h\"\n") ==
              Strings{"node/port.h reaches actors/core/caf.h, which is internal"});
  BOOST_CHECK(findings("tensor/format.h", "#include <zmq.h>\n") == Strings());
  BOOST_CHECK(findings("node/none.h", "") == (Strings{"is not there", "is not there"}));
}

BOOST_AUTO_TEST_CASE(a_list_of_what_is_no_installed_root_is_found) {
  BOOST_TEST(tidy::check_roots({}).size() == 1U);
  BOOST_TEST(tidy::check_roots({{"cmake/TroupeInstall.cmake", "set(headers)\n"}}).size() == 1U);
  const Findings found =
      tidy::check_roots({{"cmake/TroupeInstall.cmake", "set(roots node/log.h)\n"}, {"node/log.h", ""}});
  const Finding expected{"cmake/TroupeInstall.cmake", 0, "installs no tensor/format.h: strike its list"};
  BOOST_TEST(std::ranges::count(found, expected) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
