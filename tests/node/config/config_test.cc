// The contents of a cluster file, what overrides them, and one line for each error.
#include "node/config/config.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/node/config/config_files.h"

using namespace troupe;
using troupe::testing::check_lines;
using troupe::testing::kMinimalFile;

BOOST_FIXTURE_TEST_SUITE(config, testing::ConfigFiles)

BOOST_AUTO_TEST_CASE(a_role_with_a_command_is_enough) {
  const ClusterConfig config = load(kMinimalFile);
  BOOST_TEST(config.name == "troupe");
  BOOST_CHECK(config.transport == Transport::ipc);
  BOOST_TEST(config.port == 0);
  BOOST_TEST(config.node.join_timeout.count() == 30'000);
  BOOST_TEST(config.node.shutdown_timeout.count() == 10'000);
  BOOST_TEST(config.node.math_threads == 0);
  BOOST_TEST(config.node.log_level == "info");
  BOOST_TEST(config.node.pool_threads_max == 2048);
  BOOST_CHECK(config.node.peer == PeerLimits{});
  BOOST_TEST_REQUIRE(config.roles.size() == 1u);
  BOOST_TEST(config.roles[0].name == "ps");
  BOOST_TEST(config.roles[0].count == 1);
  BOOST_CHECK(config.roles[0].on_exit == OnExit::stop_all);
  BOOST_TEST(config.directory == path());
}

BOOST_AUTO_TEST_CASE(every_key_of_the_file_arrives) {
  const ClusterConfig config = load(R"([cluster]
name = "mnist"
transport = "tcp"
port = 29500
join_timeout = "500ms"
shutdown_timeout = "2m"
heartbeat = "50ms"
suspicion = "1s"
lease = "1m"
debug = true
result = "trainer0"
[node]
stall_limit = "1m"
shared_memory_max = "3MiB"
rings = false
spin = false
confined = true
math_threads = 3
log_level = "debug"
[pool]
threads = 4
threads_max = 5
[peer]
waiting_calls_max = 1
waiting_bytes_max = "2MiB"
calls_max = 65
nested_calls_max = 17
bulk_bytes_max = "3GiB"
answer_bytes_max = "4096KiB"
owners_max = 5
forks_max = 6
contexts_max = 7
shards_max = 8
[[role]]
name = "trainer"
count = 2
command = ["./trainer", "--epochs", "3"]
env = {DATA = "/srv/digits"}
working_dir = "runs"
on_exit = "keep_going"
)");
  BOOST_TEST(config.name == "mnist");
  BOOST_CHECK(config.transport == Transport::tcp);
  BOOST_TEST(config.port == 29500);
  BOOST_TEST(config.node.join_timeout.count() == 500);
  BOOST_TEST(config.node.shutdown_timeout.count() == 120'000);
  BOOST_TEST(config.node.heartbeat.count() == 50);
  BOOST_TEST(config.node.suspicion.count() == 1000);
  BOOST_TEST(config.node.lease.count() == 60'000);
  BOOST_TEST(config.node.debug);
  BOOST_TEST(config.result == "trainer0");
  BOOST_TEST(config.node.stall_limit.count() == 60'000);
  BOOST_TEST(config.node.shared_memory_max == std::size_t{3} << 20);
  BOOST_TEST(!config.node.rings);
  BOOST_TEST(!config.node.spin);
  BOOST_TEST(config.node.confined);
  BOOST_TEST(config.node.math_threads == 3);
  BOOST_TEST(config.node.log_level == "debug");
  BOOST_TEST(config.node.pool_threads == 4);
  BOOST_TEST(config.node.pool_threads_max == 5);
  const PeerLimits peer{.waiting_calls_max = 1,
                        .waiting_bytes_max = 2 << 20,
                        .calls_max = 65,
                        .nested_calls_max = 17,
                        .bulk_bytes_max = std::size_t{3} << 30,
                        .answer_bytes_max = 4 << 20,
                        .owners_max = 5,
                        .forks_max = 6,
                        .contexts_max = 7,
                        .shards_max = 8};
  BOOST_CHECK(config.node.peer == peer);
  const RoleConfig& role = config.roles.at(0);
  BOOST_TEST(role.command == (std::vector<std::string>{"./trainer", "--epochs", "3"}),
             boost::test_tools::per_element());
  BOOST_TEST(role.env.at("DATA") == "/srv/digits");
  BOOST_TEST(role.working_dir == "runs");
  BOOST_CHECK(role.on_exit == OnExit::keep_going);
}

BOOST_AUTO_TEST_CASE(one_process_has_the_role_as_name_and_several_have_an_index) {
  RoleConfig role;
  role.name = "trainer";
  BOOST_TEST(node_name(role, 0) == "trainer");
  role.count = 2;
  BOOST_TEST(node_name(role, 0) == "trainer0");
  BOOST_TEST(node_name(role, 1) == "trainer1");
}

BOOST_AUTO_TEST_CASE(errors_show_control_characters_of_a_file_instead_of_passing_them_on,
                     *boost::unit_test::label("attack")) {
  const std::string file = write("[cluster]\nnetwork = \"\\u001b[2J\\u0000x\"\n" + std::string(kMinimalFile));
  const std::string wanted =
      R"(cluster.toml:2: cluster.network: "\x1b[2J\x00x" is not one of auto, loopback, keys, trusted)";
  check_lines(errors_of(file), {wanted});
  BOOST_CHECK_EXCEPTION(load_config(file, {}, {}), ConfigError,
                        [&](const ConfigError& error) { return std::string(error.what()).ends_with(wanted); });
}

BOOST_AUTO_TEST_CASE(ports_are_a_range) {
  BOOST_TEST(load("[cluster]\nports = \"29500-29599\"\n" + std::string(kMinimalFile)).node.ports == "29500-29599");
  for (const std::string key : {"ports", "stream_ports"}) {
    const std::string file = write("[cluster]\n" + key + " = \"29599-29500\"\n" + std::string(kMinimalFile));
    BOOST_CHECK_EXCEPTION(load_config(file, {}, {}), ConfigError, [&](const ConfigError& error) {
      return error.lines().front() == file + ":2: cluster." + key +
                                          ": \"29599-29500\" is not LOW-HIGH, two ports of 1 to 65535, "
                                          "e.g. \"29500-29599\"";
    });
  }
}

BOOST_AUTO_TEST_CASE(every_value_knows_where_it_came_from) {
  const std::string file = write("[cluster]\nname = \"mnist\"\n" + std::string(kMinimalFile));
  const std::vector<std::string> sets{"cluster.port=7", "role.ps.count=2"};
  const std::string text = describe(load_config(file, {{"TROUPE__NODE__LOG_LEVEL", "warn"}}, sets), ShowOrigin::yes);
  const std::string wanted = R"(cluster.name = "mnist"            # FILE:2
cluster.transport = "ipc"         # built-in default
cluster.port = 7                  # command line
cluster.network = "auto"          # built-in default
cluster.address = ""              # built-in default
cluster.seed = ""                 # built-in default
cluster.join_port = 0             # built-in default
cluster.grows = false             # built-in default
cluster.ports = ""                # built-in default
cluster.stream_ports = ""         # built-in default
cluster.advertise = ""            # built-in default
cluster.join_timeout = "30s"      # built-in default
cluster.shutdown_timeout = "10s"  # built-in default
cluster.heartbeat = "100ms"       # built-in default (with keys 200ms)
cluster.suspicion = "200ms"       # built-in default (with keys 800ms)
cluster.lease = "10s"             # built-in default
cluster.debug = false             # built-in default
cluster.result = ""               # built-in default
cluster.copy = false              # built-in default
node.stall_limit = "30s"          # built-in default
node.math_threads = 0             # built-in default
node.shared_memory_max = "2GiB"   # built-in default
node.rings = true                 # built-in default
node.streams = true               # built-in default
node.spin = true                  # built-in default
node.confined = false             # built-in default
node.audit_log = ""               # built-in default
node.log_level = "warn"           # environment TROUPE__NODE__LOG_LEVEL
node.leaks = "warn"               # built-in default
pool.threads = 0                  # built-in default
pool.threads_max = 2048           # built-in default
peer.waiting_calls_max = 200000   # built-in default
peer.waiting_bytes_max = "1GiB"   # built-in default
peer.calls_max = 1024             # built-in default
peer.nested_calls_max = 256       # built-in default
peer.bulk_bytes_max = "64MiB"     # built-in default
peer.answer_bytes_max = "256MiB"  # built-in default
peer.owners_max = 1000000         # built-in default
peer.forks_max = 1000000          # built-in default
peer.contexts_max = 100000        # built-in default
peer.shards_max = 10000           # built-in default
role.ps.name = "ps"               # FILE:4
role.ps.count = 2                 # command line
role.ps.command = ["./ps"]        # FILE:5
role.ps.env = {}                  # built-in default
role.ps.calls = {}                # built-in default
role.ps.working_dir = ""          # built-in default
role.ps.on_exit = "stop_all"      # built-in default
role.ps.hosts = []                # built-in default
role.ps.placement = "spread"      # built-in default
)";
  std::string expected = wanted;
  for (auto at = expected.find("FILE"); at != std::string::npos; at = expected.find("FILE"))
    expected.replace(at, 4, file);
  BOOST_TEST(text == expected);
}

BOOST_AUTO_TEST_CASE(what_is_shown_can_stand_in_a_file_and_commands_no_terminal) {
  const std::string minimal(kMinimalFile);
  const ClusterConfig config = load(minimal +
                                    R"(env = {"A B" = "\u001b[2J\t\u0085\u007f\"\\\n", "B.C" = "é", "C-d_1" = ""}
calls = {"*" = "square"}
)");
  const auto shown = [&config](const std::string& key) {
    return std::ranges::find(config.entries, "role.ps." + key, &ConfigEntry::key)->value;
  };
  BOOST_TEST(shown("env") == R"({"A B" = "\u001b[2J\u0009\u0085\u007f\"\\\n", "B.C" = "é", C-d_1 = ""})");
  BOOST_TEST(shown("calls") == R"({"*" = "square"})");
  BOOST_TEST(shown("hosts") == "[]");
  const ClusterConfig again =
      load(minimal + "env = " + shown("env") + "\ncalls = " + shown("calls") + "\nhosts = " + shown("hosts") + "\n");
  BOOST_TEST((again.roles.front().env == config.roles.front().env));
  BOOST_TEST((again.roles.front().calls == config.roles.front().calls));
  BOOST_TEST(again.roles.front().hosts.empty());
  BOOST_TEST(load("[[host]]\nname = \"a\"\nagent = []\n" + minimal).hosts.front().agent.front() == "ssh");
}

BOOST_AUTO_TEST_CASE(unknown_keys_are_refused_with_a_guess) {
  check_lines(errors("[[role]]\nname = \"ps\"\ncomand = [\"./ps\"]\ncommand = [\"./ps\"]\n"),
              {R"(cluster.toml:3: role.comand: unknown key, did you mean "command"?)"});
  check_lines(errors("[cluster]\ntransprot = \"ipc\"\n" + std::string(kMinimalFile)),
              {R"(cluster.toml:2: cluster.transprot: unknown key, did you mean "transport"?)"});
  check_lines(errors("[node]\ncolour = 1\n" + std::string(kMinimalFile)),
              {"cluster.toml:2: node.colour: unknown key; there are stall_limit, math_threads, shared_memory_max, "
               "rings, streams, "
               "spin, confined, audit_log, log_level, leaks"});
  check_lines(errors("[clutser]\nname = \"a\"\n" + std::string(kMinimalFile)),
              {R"(cluster.toml:1: clutser: unknown section, did you mean "cluster"?)"});
  check_lines(errors("name = \"a\"\n" + std::string(kMinimalFile)),
              {"cluster.toml:1: name: a key outside of any section"});
}

BOOST_AUTO_TEST_CASE(wrong_types_and_ranges_are_refused) {
  const std::string role(kMinimalFile);
  check_lines(errors("[cluster]\nport = \"abc\"\n" + role),
              {R"(cluster.toml:2: cluster.port: expected an integer, found string "abc")"});
  check_lines(errors("[cluster]\nport = 70000\n" + role), {"cluster.toml:2: cluster.port: 70000 is not in 0..65535"});
  check_lines(errors("[cluster]\nport = 1.5\n" + role),
              {"cluster.toml:2: cluster.port: expected an integer, found a number with a fraction"});
  check_lines(errors("[cluster]\nname = 3\n" + role),
              {"cluster.toml:2: cluster.name: expected a string, found integer 3"});
  check_lines(errors("[cluster]\nname = \"a b\"\n" + role),
              {R"(cluster.toml:2: cluster.name: "a b" is not a name: 1 to 64 of A-Z a-z 0-9 - _ : .)"});
  check_lines(errors("[cluster]\ntransport = \"tccp\"\n" + role),
              {R"(cluster.toml:2: cluster.transport: "tccp" is not one of ipc, tcp, did you mean "tcp"?)"});
  check_lines(
      errors("[cluster]\njoin_timeout = 30\n" + role),
      {R"(cluster.toml:2: cluster.join_timeout: expected a duration such as "500ms", "30s" or "2m", found integer 30)"});
  check_lines(
      errors("[cluster]\njoin_timeout = \"0s\"\n" + role),
      {R"(cluster.toml:2: cluster.join_timeout: expected a duration such as "500ms", "30s" or "2m", found string "0s")"});
  check_lines(errors("[cluster]\njoin_timeout = \"25h\"\nshutdown_timeout = \"9223372036854775807ms\"\n" + role),
              {R"(cluster.toml:2: cluster.join_timeout: "25h" is not in "1ms".."24h")",
               R"(cluster.toml:3: cluster.shutdown_timeout: "9223372036854775807ms" is not in "1ms".."24h")"});
  check_lines(
      errors("[cluster]\njoin_timeout = \"9223372036854775807s\"\n" + role),
      {R"(cluster.toml:2: cluster.join_timeout: expected a duration such as "500ms", "30s" or "2m", found string "9223372036854775807s")"});
  check_lines(errors("[node]\nshared_memory_max = \"2048GiB\"\n" + role),
              {R"(cluster.toml:2: node.shared_memory_max: "2048GiB" is not in "0GiB".."1024GiB")"});
  check_lines(errors("[cluster]\nlease = \"500ms\"\n" + role),
              {R"(cluster.toml:2: cluster.lease: "500ms" is not in "1s".."24h")"});
  check_lines(errors("[cluster]\nheartbeat = \"1ms\"\nsuspicion = \"2m\"\n" + role),
              {R"(cluster.toml:2: cluster.heartbeat: "1ms" is not in "10ms".."10s")",
               R"(cluster.toml:3: cluster.suspicion: "2m" is not in "10ms".."1m")"});
  check_lines(
      errors(
          "[peer]\nbulk_bytes_max = \"1MiB\"\nwaiting_bytes_max = \"2TiB\"\nanswer_bytes_max = 4096\ncalls_max = 63\n" +
          role),
      {R"(cluster.toml:2: peer.bulk_bytes_max: "1MiB" is not in "2MiB".."1024GiB")",
       R"(cluster.toml:3: peer.waiting_bytes_max: expected a size such as "512KiB", "64MiB" or "1GiB", found string "2TiB")",
       R"(cluster.toml:4: peer.answer_bytes_max: expected a size such as "512KiB", "64MiB" or "1GiB", found integer 4096)",
       R"(cluster.toml:5: peer.calls_max: 63 is not in 64..1000000000)"});
  check_lines(errors("[cluster]\ndebug = \"yes\"\n" + role),
              {R"(cluster.toml:2: cluster.debug: expected true or false, found string "yes")"});
  check_lines(errors("cluster = 3\n" + role),
              {"cluster.toml:1: cluster: expected the section [cluster], found an integer"});
  check_lines(
      errors("[node]\nlog_level = true\n" + role),
      {"cluster.toml:2: node.log_level: expected one of trace, debug, info, warn, error, off, found boolean true"});
}

BOOST_AUTO_TEST_CASE(roles_need_a_name_a_command_and_a_sensible_count) {
  check_lines(errors("\n[[role]]\nname = \"ps\"\n"),
              {R"(cluster.toml:2: role.command: missing, e.g. command = ["./trainer"])"});
  check_lines(errors("[[role]]\ncommand = [\"./ps\"]\n"),
              {R"(cluster.toml:1: role.name: missing, e.g. name = "trainer")"});
  check_lines(errors("[[role]]\n"), {R"(cluster.toml:1: role.name: missing, e.g. name = "trainer")",
                                     R"(cluster.toml:1: role.command: missing, e.g. command = ["./trainer"])"});
  check_lines(errors("[[role]]\nname = \"ps\"\ncommand = []\n"), {"cluster.toml:3: role.command: is empty"});
  check_lines(
      errors("[[role]]\nname = \"ps\"\ncommand = \"./ps\"\n"),
      {R"(cluster.toml:3: role.command: expected an array of strings such as ["./ps", "--fast"], found string "./ps")"});
  check_lines(
      errors("[[role]]\nname = \"ps\"\ncommand = [\"./ps\", 3]\n"),
      {R"(cluster.toml:3: role.command: expected an array of strings such as ["./ps", "--fast"], found an array with an integer in it)"});
  check_lines(errors(std::string(kMinimalFile) + "count = 0\n"), {"cluster.toml:4: role.count: 0 is not in 1..1024"});
  check_lines(errors(std::string(kMinimalFile) + "count = 1000000\n"),
              {"cluster.toml:4: role.count: 1000000 is not in 1..1024"});
  check_lines(
      errors(std::string(kMinimalFile) + "env = {A = 1}\n"),
      {R"(cluster.toml:4: role.env: expected a table of strings such as {KEY = "value"}, found an integer for A)"});
  check_lines(errors(std::string(kMinimalFile) + "env = {TROUPE_NODE = \"x\"}\n"),
              {"cluster.toml:4: role.env: TROUPE_NODE is set by troupe itself"});
  const std::string limit = "env = {TROUPE_MAX_CPU_ISA = \"avx2\"}\n";
  const ClusterConfig config = load("[[host]]\nname = \"a\"\n" + limit + std::string(kMinimalFile) + limit);
  BOOST_TEST(config.roles.front().env.at("TROUPE_MAX_CPU_ISA") == "avx2");
  BOOST_TEST(config.hosts.front().env.at("TROUPE_MAX_CPU_ISA") == "avx2");
  check_lines(errors("[cluster]\n"), {"cluster.toml: role: there is no [[role]], so nothing to start"});
  check_lines(errors("[role]\nname = \"ps\"\n"), {"cluster.toml:1: role: expected [[role]], found [role]"});
}

BOOST_AUTO_TEST_CASE(duplicate_names_are_refused) {
  check_lines(errors(std::string(kMinimalFile) + kMinimalFile.data()),
              {R"(cluster.toml:5: role.name: "ps" is already the name of the role at cluster.toml:2)"});
  check_lines(
      errors("[[role]]\nname = \"t\"\ncount = 2\ncommand = [\"a\"]\n[[role]]\nname = \"t1\"\ncommand = [\"a\"]\n"),
      {R"(cluster.toml:6: role.name: node name "t1" is already taken by role "t" at cluster.toml:2)"});
}

BOOST_AUTO_TEST_CASE(names_of_all_nodes_of_a_role_fit_a_socket) {
  const auto role = [](std::size_t characters, const std::string& count) {
    return "[[role]]\nname = \"" + std::string(characters, 'n') + "\"\ncount = " + count + "\ncommand = [\"a\"]\n";
  };
  BOOST_TEST(load(role(64, "1")).roles[0].name.size() == 64U);
  BOOST_TEST(load(role(62, "100")).roles[0].count == 100);  // "...99"
  check_lines(errors(role(62, "101")), {"cluster.toml:2: role.name: node name \"" + std::string(62, 'n') +
                                        "100\" has 65 characters, more than 64"});
}

BOOST_AUTO_TEST_CASE(the_result_names_a_node) {
  const std::string role = "[[role]]\nname = \"trainer\"\ncount = 2\ncommand = [\"a\"]\n";
  BOOST_TEST(load("[cluster]\nresult = \"trainer1\"\n" + role).result == "trainer1");
  check_lines(errors("[cluster]\nresult = \"trainer\"\n" + role),
              {R"(cluster.toml:2: cluster.result: no node "trainer", did you mean "trainer0"?)"});
}

BOOST_AUTO_TEST_CASE(all_errors_are_reported_in_the_order_of_the_file_then_by_layer) {
  check_lines(errors("[cluster]\nport = -1\nnmae = \"x\"\n[[role]]\nname = \"\"\n", {{"TROUPE__CLUSTER__PROT", "1"}},
                     {"node.log_level=loud"}),
              {"cluster.toml:2: cluster.port: -1 is not in 0..65535",
               R"(cluster.toml:3: cluster.nmae: unknown key, did you mean "name"?)",
               R"(cluster.toml:4: role.command: missing, e.g. command = ["./trainer"])",
               R"(cluster.toml:5: role.name: "" is not a name: 1 to 64 of A-Z a-z 0-9 - _ : .)",
               R"(environment TROUPE__CLUSTER__PROT: cluster.prot: unknown key, did you mean "port"?)",
               R"(command line: node.log_level: "loud" is not one of trace, debug, info, warn, error, off)"});
}

BOOST_AUTO_TEST_CASE(unreadable_and_malformed_files_are_one_line) {
  check_lines(errors_of((path() / "absent.toml").string()), {"absent.toml: cannot read: No such file or directory"});
  check_lines(errors_of(path().string() + "/."), {".: cannot read: Is a directory"});
  check_lines(errors_of(""), {R"("": cannot read: No such file or directory)"});
  const auto lines = errors("[cluster]\nname = \n");
  BOOST_TEST_REQUIRE(lines.size() == 1u);
  BOOST_TEST(lines[0].starts_with("cluster.toml:2: "), lines[0]);
  check_lines(
      errors("[cluster]\nname = demo\nport = 1\n"),
      {"cluster.toml:2: Error while parsing value: could not determine value type; after \"name =\": text stands in "
       "quotes"});
  check_lines(errors("name = demo"),
              {"cluster.toml:1: Error while parsing value: could not determine value type; after "
               "\"name =\": text stands in quotes"});
}

BOOST_AUTO_TEST_CASE(keys_of_many_dots_are_refused_before_they_are_parsed, *boost::unit_test::label("attack")) {
  std::string deep = "a";
  for (int i = 0; i < 50'000; ++i) deep += ".a";
  const std::string two_lines = std::string("[cluster]\n") + deep + " = 1\n";
  check_lines(errors(two_lines), {"cluster.toml:2: a key with more than 32 dots"});
  check_lines(errors("[" + deep + "]\n"), {"cluster.toml:1: a key with more than 32 dots"});
  // Strings of several lines, with all that may end them, hide no key.
  for (const std::string text : {R"("""a" """"")", "'''\n'''''", R"("\"")", "'\\'", "\"\""}) {
    const auto lines = errors("x = [" + text + ", {" + deep + " = 1}]\n");
    BOOST_TEST_REQUIRE(lines.size() == 1U);
    BOOST_TEST(lines[0].ends_with(": a key with more than 32 dots"), text);
  }
}

BOOST_AUTO_TEST_CASE(dots_of_strings_and_comments_are_not_those_of_keys) {
  const std::string dots(1000, '.');
  for (const std::string quote : {"\"", "'", "'''", R"(""")"}) {
    const auto config = load("[[role]] # " + dots + "\nname = \"ps\"\ncommand = [" + quote + dots + quote + "]\n");
    BOOST_TEST(config.roles[0].command[0] == dots);
  }
}

BOOST_AUTO_TEST_CASE(hosts_are_reached_by_ssh_unless_the_file_says_otherwise) {
  const ClusterConfig config = load(R"([cluster]
copy = true
[[host]]
name = "a"
[[host]]
name = "b"
ssh = "me@b.example"
troupe = "/opt/troupe/bin/troupe"
address = "eth1"
slots = 4
gpus = 2
working_dir = "/srv"
env = {DATA = "/srv/digits"}
[[host]]
name = "c"
local = true
[[host]]
name = "d"
agent = ["rsh", "d", "troupe", "agent"]
[[role]]
name = "t"
count = 2
command = ["./t"]
hosts = ["a", "b"]
placement = "per_host"
)",
                                    {{"TROUPE__HOST__A__SLOTS", "3"}}, {"host.c.slots=5"});
  BOOST_CHECK(config.transport == Transport::tcp);
  BOOST_TEST(config.copy);
  BOOST_TEST_REQUIRE(config.hosts.size() == 4u);
  const HostConfig& a = config.hosts[0];
  BOOST_TEST(a.agent == (std::vector<std::string>{"ssh", "-T", "-o", "BatchMode=yes", "a", "troupe", "agent"}));
  BOOST_TEST(a.reached_as == "a");
  BOOST_TEST(a.slots == 3);
  const HostConfig& b = config.hosts[1];
  BOOST_TEST(b.agent == (std::vector<std::string>{"ssh", "-T", "-o", "BatchMode=yes", "me@b.example",
                                                  "/opt/troupe/bin/troupe", "agent"}));
  BOOST_TEST(b.reached_as == "b.example");
  BOOST_TEST(b.address == "eth1");
  BOOST_TEST(b.slots == 4);
  BOOST_TEST(b.gpus == 2);
  BOOST_TEST(b.working_dir == "/srv");
  BOOST_TEST(b.env.at("DATA") == "/srv/digits");
  BOOST_TEST(config.hosts[2].agent == (std::vector<std::string>{"/proc/self/exe", "agent"}));
  BOOST_TEST(config.hosts[2].slots == 5);
  BOOST_TEST(config.hosts[3].agent == (std::vector<std::string>{"rsh", "d", "troupe", "agent"}));
  BOOST_TEST(config.roles.at(0).count == 4);  // two on each of two hosts
  BOOST_CHECK(config.roles[0].placement == RolePlacement::per_host);
}

BOOST_AUTO_TEST_CASE(one_host_alone_may_use_unix_sockets) {
  const std::string role = "[[role]]\nname = \"ps\"\ncommand = [\"./ps\"]\n";
  BOOST_CHECK(load("[[host]]\nname = \"a\"\n" + role).transport == Transport::ipc);
  check_lines(errors("[cluster]\ntransport = \"ipc\"\n[[host]]\nname = \"a\"\n[[host]]\nname = \"b\"\n" + role),
              {R"(cluster.toml:2: cluster.transport: processes on several hosts reach each other by "tcp" only)"});
  const ClusterConfig both = load("[[host]]\nname = \"a\"\n[[host]]\nname = \"b\"\n" + role);
  BOOST_TEST((both.transport == Transport::tcp));
  BOOST_TEST(describe(both, ShowOrigin::no).find("cluster.transport = \"tcp\"\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(hosts_that_cannot_be_are_refused) {
  const std::string role = "[[role]]\nname = \"ps\"\ncommand = [\"./ps\"]\n";
  check_lines(errors("[[host]]\nslots = 1\n" + role), {R"(cluster.toml:1: host.name: missing, e.g. name = "a")"});
  check_lines(errors("[[host]]\nname = \"a\"\n[[host]]\nname = \"a\"\n" + role),
              {R"(cluster.toml:4: host.name: "a" is already the name of the host at cluster.toml:2)"});
  check_lines(errors("[host]\nname = \"a\"\n" + role), {"cluster.toml:1: host: expected [[host]], found [host]"});
  check_lines(errors("[[host]]\nname = \"a\"\n" + role + "hosts = [\"b\"]\n"),
              {R"(cluster.toml:6: role.hosts: no host "b")"});
  check_lines(errors("[[host]]\nname = \"a\"\n" + role + "hosts = [\"a\", \"a\"]\nplacement = \"per_host\"\n"),
              {R"(cluster.toml:6: role.hosts: "a" is named twice)"});
  check_lines(errors(role + "hosts = [\"b\"]\n"), {R"(cluster.toml:4: role.hosts: "b": the file has no [[host]])"});
  check_lines(errors("[[host]]\nname = \"a\"\nworking_dir = \"srv\"\n" + role),
              {R"(cluster.toml:3: host.working_dir: "srv" is not an absolute path)"});
  check_lines(errors("[[host]]\nname = \"a\"\nlocal = true\nssh = \"b\"\n" + role),
              {"cluster.toml:4: host.ssh: host.local says that it needs none"});
  check_lines(errors("[[host]]\nname = \"a\"\nssh = \"b\"\nagent = [\"x\"]\n" + role),
              {"cluster.toml:4: host.agent: replaces host.ssh and host.local: give one of the three"});
}

BOOST_AUTO_TEST_CASE(calls_of_a_role_name_roles_nodes_or_everybody) {
  const std::string role = "[[role]]\nname = \"ps\"\ncommand = [\"./ps\"]\n";
  const std::string trainers = "[[role]]\nname = \"trainer\"\ncount = 2\ncommand = [\"./t\"]\n";
  BOOST_TEST(!load(role).roles.at(0).calls.has_value());
  const ClusterConfig config = load(role + "calls = { trainer = \"push pull\", \"*\" = \"ping\" }\n" + trainers);
  BOOST_CHECK((config.roles.at(0).calls == StringTable{{"*", "ping"}, {"trainer", "push pull"}}));
  check_lines(errors(role + "calls = { trainr = \"push\" }\n" + trainers),
              {R"(cluster.toml:4: role.calls: no role or node "trainr", did you mean "trainer"?)"});
  check_lines(errors(role + "calls = { trainer2 = \"push\" }\n" + trainers),
              {R"(cluster.toml:4: role.calls: no role or node "trainer2", did you mean "trainer"?)"});
  check_lines(
      errors(role + "calls = { ps = \"push; pull\" }\n"),
      {R"(cluster.toml:4: role.calls: "ps" = "push; pull": names of functions are separated by blanks or commas)"});
  check_lines(errors(role + "calls = {}\n"),
              {R"(cluster.toml:4: role.calls: the table names no peer; write "*" = "" if no peer may call anything)"});
}

BOOST_AUTO_TEST_CASE(no_word_for_ssh_is_an_option_or_more_than_a_word) {
  const std::string role = "[[role]]\nname = \"ps\"\ncommand = [\"./ps\"]\n";
  check_lines(errors("[[host]]\nname = \"a\"\nssh = \"-oProxyCommand=reboot\"\n" + role),
              {R"(cluster.toml:3: host.ssh: "-oProxyCommand=reboot" begins with a -)"});
  for (const char* word : {"b; reboot", "$(reboot)", "b c", "`x`", "b'"}) {
    const auto found = errors("[[host]]\nname = \"a\"\ntroupe = \"" + std::string(word) + "\"\n" + role);
    BOOST_TEST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].find("has a character that a remote shell may read as its own") != std::string::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()
