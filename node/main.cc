// The program `troupe`.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "messages/did_you_mean.h"
#include "node/argument_checks.h"
#include "node/audit/audit_command.h"
#include "node/config/config.h"
#include "node/config/settings.h"
#include "node/control/kill_command.h"
#include "node/control/logs_command.h"
#include "node/control/status_command.h"
#include "node/doctor/doctor_command.h"
#include "node/engines/host_part.h"
#include "node/engines/key_file_node.h"
#include "node/engines/node_command.h"
#include "node/hosts/agent.h"
#include "node/keys/keys_command.h"
#include "node/launch/audit_place.h"
#include "node/launch/launcher.h"
#include "node/visible_text.h"

namespace {

constexpr int kUsageError = 2;

constexpr const char* kExamples = R"(Examples:
  troupe up cluster.toml                                 start all processes of a cluster, Ctrl-C stops them
  troupe up cluster.toml --set role.trainer.count=4      the same with four trainers
  troupe up cluster.toml --log-dir logs                  keep what each of them prints in logs/<node>.log
  srun -n 3 troupe node cluster.toml                     the same as tasks of Slurm, or of Open MPI by mpirun
  troupe doctor cluster.toml                             whether its hosts have what they need, and reach each other
  troupe config show cluster.toml --origin               what is configured, and by whom
  troupe status                                          what runs, and what it counts
  troupe stack trainer0                                  what waits for what on a node
  troupe logs trainer0 --follow                          what a node has printed, and what it prints
  troupe kill trainer0 --signal KILL                     what happens when it dies

A cluster file:
  [cluster]
  name = "mnist"
  [[role]]
  name = "ps"
  command = ["./parameter_server"]
  [[role]]
  name = "trainer"
  count = 2
  command = ["./trainer", "--epochs", "3"]

Environment:
  TROUPE__SECTION__KEY    overrides a key of the file, e.g. TROUPE__NODE__LOG_LEVEL=debug; --set overrides both
  NO_COLOR                set: no colours
)";

struct Arguments {
  std::string file;
  std::vector<std::string> overrides;
  std::string log_dir;
  std::string host;
  bool debug = false;
  bool origin = false;
  std::string cluster;
  std::string node;
  std::string signal = "TERM";
  bool json = false;
  bool all_peers = false;
  double timeout = 2;
  std::size_t lines = 50;
  bool follow = false;
  double step_timeout = 10;
  std::string job_dir;
  std::string munge = "auto";
  std::vector<std::string> program_arguments;
  troupe::KeyFileOptions key_files;
  troupe::KeysCommandOptions keys;
  std::string keys_for;
  std::vector<std::string> audit_files;
};

/// CLI11's help with a blank line after the description.
class HelpFormatter : public CLI::Formatter {
  std::string make_description(const CLI::App* app) const override {
    return CLI::Formatter::make_description(app) + "\n";
  }
};

CLI::Validator seconds_from(double min) {
  return {[min](const std::string& text) { return troupe::refuse_but_seconds(min, text); }, ""};
}

CLI::Validator some_text() { return {troupe::refuse_empty, ""}; }

void add_overrides(CLI::App& command, Arguments& arguments) {
  command.add_option("--set", arguments.overrides, "override a key, e.g. node.log_level=debug; may be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->allow_extra_args(false)  // or it takes the FILE behind its value, too
      ->take_all();
}

/// Adds the arguments of every command that reads a cluster file.
void add_file(CLI::App& command, Arguments& arguments) {
  command.add_option("FILE", arguments.file, "the cluster file")->required()->type_name("");
  add_overrides(command, arguments);
}

/// Adds the arguments of every command that queries running nodes.
void add_asking(CLI::App& command, Arguments& arguments) {
  command.add_option("CLUSTER", arguments.cluster, "name, id or file of the cluster, if there are several")
      ->type_name("");
  command.add_flag("--json", arguments.json, "print JSON; times are seconds");
  command.add_option("--timeout", arguments.timeout, "how long to wait for an answer [2]")
      ->type_name("SECONDS")
      ->check(seconds_from(0.001));
}

CLI::App* add_doctor(CLI::App& app, Arguments& arguments) {
  CLI::App* doctor =
      app.add_subcommand("doctor", "Checks hosts: logins, clocks, limits, libraries, firewalls, programs");
  doctor->add_option("TARGET", arguments.file, "a cluster file, for all its hosts; or one host that ssh reaches")
      ->required()
      ->type_name("");
  add_overrides(*doctor, arguments);
  doctor->add_flag("--json", arguments.json, "print JSON");
  doctor->add_option("--timeout", arguments.step_timeout, "how long each host may take at each step [10]")
      ->type_name("SECONDS")
      ->check(seconds_from(0.1));
  doctor->footer(R"(
It logs in as `troupe up` does, starts no node, and copies nothing. Every pair of hosts is tried in both directions.
Status: 0 if there is no problem, else 1; 2 for a wrong file.
)");
  return doctor;
}

CLI::App* add_node(CLI::App& app, Arguments& arguments) {
  CLI::App* node = app.add_subcommand("node", "Becomes one node of a cluster: srun or mpirun starts it in each task");
  add_file(*node, arguments);
  node->add_option("ARGUMENTS", arguments.program_arguments, "added to the role's command, after --")->type_name("");
  node->add_option("--job-dir", arguments.job_dir,
                   "where tasks exchange keys: a directory that all of them see [~/.cache/troupe/jobs]")
      ->type_name("DIR")
      ->check(some_text());
  node->add_option("--munge", arguments.munge,
                   "MUNGE proves who has written a task's keys [auto: under Slurm, if the machine has its socket]")
      ->type_name("auto|off|SOCKET");
  troupe::KeyFileOptions& files = arguments.key_files;
  node->add_option("--keys", files.keys, "without an engine: this node's key file, or a directory of them")
      ->type_name("PATH")
      ->excludes("--munge")
      ->check(some_text());
  node->add_option("--members", files.members, "the list of members [cluster.members beside the key]")
      ->type_name("FILE")
      ->check(some_text());
  node->add_option("--name", files.name, "which node this is [the one whose key it is]")
      ->type_name("NODE")
      ->check(some_text());
  node->add_option("--pod", files.pod, "the same by the name of its pod in Kubernetes, ROLE-INDEX")
      ->type_name("POD")
      ->check(some_text());
  node->footer(R"(
The engine says which task this is; roles have ranks in the order of the file. The step must have one task for each
node. Signals go to the node's program, and its status is the task's.
With --keys there is no engine: each node is started by hand or by a service, with files that `troupe keys` has made,
and cluster.seed and cluster.port say where the first node is.
)");
  return node;
}

/// Adds one command of `troupe keys`, which sets the action.
CLI::App* add_keys_action(CLI::App& keys, Arguments& arguments, const char* name, const char* about,
                          troupe::KeysAction action) {
  CLI::App* command = keys.add_subcommand(name, about);
  command->footer("");  // not the examples of all commands
  command->callback([&arguments, action] { arguments.keys.action = action; });
  return command;
}

/// Returns why `text` cannot be meant: a variable of a script that is not set is not all functions.
std::string refuse_no_functions(const std::string& text) {
  return text.empty() ? "the text is empty: \"*\" lets them call all functions, \"-\" none" : "";
}

/// As refuse_no_functions, for a last day.
std::string refuse_no_date(const std::string& text) {
  return text.empty() ? "the text is empty: leave --until out for keys without a last day" : "";
}

CLI::App* add_keys(CLI::App& app, Arguments& arguments) {
  using enum troupe::KeysAction;
  CLI::App* keys = app.add_subcommand("keys", "Makes and checks the keys of nodes that no command starts together");
  keys->require_subcommand(1);
  troupe::KeysCommandOptions& options = arguments.keys;
  CLI::App* init = add_keys_action(*keys, arguments, "init-cluster", "Makes the key of a new cluster", init_cluster);
  CLI::App* fresh = add_keys_action(*keys, arguments, "new-node", "Makes keys of new members", new_node);
  CLI::App* again = add_keys_action(*keys, arguments, "rotate", "Makes new keys of members; old ones end", rotate);
  CLI::App* may = add_keys_action(*keys, arguments, "grant", "Says what members may do on others", grant);
  CLI::App* out = add_keys_action(*keys, arguments, "revoke", "Takes members out", revoke);
  CLI::App* show = add_keys_action(*keys, arguments, "show-public", "Prints names and public keys", show_public);
  CLI::App* check = add_keys_action(*keys, arguments, "verify", "Checks files, owners, modes and signature", verify);
  for (CLI::App* command : {init, show, check}) {
    command->add_option("PATH", options.path, command == init ? "the directory" : "the directory, or a node's key file")
        ->type_name("[keys]");
  }
  check->add_option("--members", options.members, "the list [cluster.members beside the key file]")->type_name("FILE");
  for (CLI::App* command : {fresh, again, may, out}) {
    command->add_option("--dir", options.path, "the directory [keys]")->type_name("DIR");
    CLI::Option* names = command->add_option("NODE", options.names, "names of nodes")->type_name("");
    if (command != fresh) names->required();
  }
  fresh->add_option("--for", arguments.keys_for, "all nodes of a cluster file that have no key yet")->type_name("FILE");
  for (CLI::App* command : {fresh, again}) {
    command->add_option("--until", options.until, "the last day of the new keys, UTC: 2027-01-31")
        ->type_name("DATE")
        ->check(CLI::Validator(refuse_no_date, ""));
  }
  for (CLI::App* command : {fresh, may}) {
    command
        ->add_option("--calls", options.calls,
                     "functions that each NODE may call on others: eval,stats.*; \"-\": none; \"*\": what they allow")
        ->type_name("FUNCTION,...")
        ->check(CLI::Validator(refuse_no_functions, ""));
    const auto add_right = [command](const char* name, std::string& text, const char* about) {
      command->add_option(name, text, about)->type_name("*|-")->check(CLI::IsMember({"*", "-"}).description(""));
    };
    add_right("--owns", options.owns, "\"*\": each NODE may make values on other nodes; \"-\": it may not");
    add_right("--reads", options.reads, "\"*\": each NODE may get copies of other nodes' values; \"-\": it may not");
  }
  may->parse_complete_callback([&options] {
    if ((options.calls + options.owns + options.reads).empty()) throw CLI::RequiredError("--calls, --owns or --reads");
  });
  keys->footer(R"(
DIR/cluster.key decides who is in, and stays where it is. DIR/nodes/cluster.members goes to every node, and
DIR/nodes/NODE.key to that node alone.
)");
  return keys;
}

CLI::App* add_audit_verify(CLI::App& app, Arguments& arguments) {
  CLI::App* audit = app.add_subcommand("audit", "Checks the audit logs of nodes: peers that joined, and refusals");
  audit->require_subcommand(1)->footer("");
  CLI::App* check = audit->add_subcommand("verify", "Checks that no line was changed, taken out or moved");
  check->add_option("FILE", arguments.audit_files, "DIR/NODE.audit, NODE.audit.1 before it; DIR: all in it")
      ->required()
      ->type_name("");
  check->footer(R"(
It prints the first broken line of each log, or the hash of the last. With the logs of several nodes of one cluster
it also compares them: nodes tell each other the hashes of their last lines, so a log that was rewritten or truncated
does not match the hashes that other nodes recorded.
Status: 1 if a line is broken or differs from the hash that another node recorded, or if a log lacks lines that others
know, is empty, given twice, of another node than its file says, or cannot be read; otherwise 2 if one of several logs
refers to a log that was not given; otherwise 0.
)");
  return check;
}

std::string keys_help() {
  std::string text = "Keys of the file:\n";
  for (const auto specs :
       {troupe::cluster_setting_specs(), troupe::role_setting_specs(), troupe::host_setting_specs()}) {
    for (const troupe::SettingSpec& spec : specs) {
      const std::string far =
          spec.between_machines.empty() ? "" : fmt::format("; with keys or trusted {}", spec.between_machines);
      const std::string fallback = spec.fallback.empty() ? "" : fmt::format(" [{}{}]", spec.fallback, far);
      const std::string choices = spec.choices.empty() ? "" : fmt::format(": {}", spec.choices);
      text +=
          fmt::format("  {:<26}{}{}{}\n", fmt::format("{}.{}", spec.section, spec.key), spec.about, choices, fallback);
    }
  }
  return text;
}

void add_up(CLI::App& app, Arguments& arguments) {
  CLI::App* up = app.add_subcommand("up", "Starts the processes of a cluster and runs them to their end");
  add_file(*up, arguments);
  up->add_option("--log-dir", arguments.log_dir,
                 "also write what each node prints to DIR/<node>.log, in the place of a former run's; with keys, "
                 "DIR/<node>.audit, if all hosts are this machine (else see node.audit_log)")
      ->type_name("DIR")
      ->check(some_text());
  up->add_option("--host", arguments.host, "start only the nodes of this [[host]], which is this machine")
      ->type_name("NAME")
      ->check(some_text());
  up->add_option("--keys", arguments.key_files.keys, "with --host: a directory with the key files of its nodes")
      ->type_name("DIR")
      ->needs("--host")
      ->check(some_text());
  up->add_option("--members", arguments.key_files.members, "with --host: the list [cluster.members beside the keys]")
      ->type_name("FILE")
      ->needs("--host")
      ->check(some_text());
  up->add_flag("--debug", arguments.debug, "the same as --set cluster.debug=true: nodes may stop in a debugger");
  up->footer(keys_help() + R"(
Output: every line with its node in front, [trainer/1]. The last line is the first failure, or cluster.result's.
Status: 0, or that of the first failure (its exit status, or 128 + signal), 130 after Ctrl-C, 2 for a wrong file.
)");
}

CLI::App* add_config_show(CLI::App& app, Arguments& arguments) {
  CLI::App* config = app.add_subcommand("config", "Looks at the configuration")->require_subcommand(1);
  config->footer("");
  CLI::App* show = config->add_subcommand("show", "Prints every key with its value");
  add_file(*show, arguments);
  show->add_flag("--origin", arguments.origin, "and where each value came from");
  show->footer("");
  return show;
}

CLI::App* add_status(CLI::App& app, Arguments& arguments) {
  CLI::App* status = app.add_subcommand("status", "Shows the processes of running clusters and what they count");
  add_asking(*status, arguments);
  status->add_flag("--peers", arguments.all_peers, "show all peers of each node, not the busiest only");
  status->footer(R"(
Of each node:
  OWNERS     values that live there because references to them exist
  HANDLES    values that references there refer to; FORKS: of these, values of other nodes
  CALLS      requests without an answer yet; WAITING: of these, have not left; SERVED: functions being run for others
  CONTEXTS   of autograd that it made or that were brought there
  THREADS    of the pool: running a function / whose function waits / idle
  SENT, RECEIVED   bytes
Of each node and peer, bounded by section [peer] of the file:
  WAITING    requests to the peer that have not left, and their BYTES; QUEUED: requests of the peer that have not begun
  ANSWERS    bytes of answers that the peer has not taken
  OWNERS     values that the peer made there; FORKS: handles that it holds; CONTEXTS: those that it brought there
Of each node and peer, beside calls and bytes:
  TRANSPORT  how messages to the peer travel, and in parentheses why not faster; set by node.shared_memory_max and
             node.rings on one host, by node.streams between hosts
Of memory that a node shares with peers on its host:
  RINGS      that small messages took, and how many PACKETS; SHARED MEMORY: of large tensors; IDLE, KEPT: of it, ready
             for the next tensor, or of one that is sent again; GPU MEMORY: of tensors on GPUs; TENSORS: sent through
             both, their bytes COPIED or NOT
Status: 0 if every process has answered, else 1.
)");
  return status;
}

CLI::App* add_stack(CLI::App& app, Arguments& arguments) {
  CLI::App* stack = app.add_subcommand("stack", "Lists what waits for what on a node: calls, turns, contexts, groups");
  stack->add_option("NODE", arguments.node, "the node's name")->required()->type_name("")->check(some_text());
  add_asking(*stack, arguments);
  stack->footer("");
  return stack;
}

CLI::App* add_logs(CLI::App& app, Arguments& arguments) {
  CLI::App* logs = app.add_subcommand("logs", "Prints the newest lines of a running cluster, or of one node of it");
  logs->add_option("NODE", arguments.node, "the node's name, or the cluster's [all nodes]")->type_name("");
  add_asking(*logs, arguments);
  logs->add_option("--lines", arguments.lines, "how many [50]")
      ->type_name("COUNT")
      ->check(CLI::Validator(troupe::refuse_but_count, ""));
  logs->add_flag("--follow", arguments.follow, "go on until the cluster ends");
  logs->footer(R"(
The launcher keeps the newest 128 KiB of each node. All that nodes print: troupe up --log-dir.
)");
  return logs;
}

CLI::App* add_kill(CLI::App& app, Arguments& arguments) {
  CLI::App* kill = app.add_subcommand("kill", "Sends a signal to a node, on whichever host it runs");
  kill->add_option("NODE", arguments.node, "the node's name")->required()->type_name("")->check(some_text());
  kill->add_option("CLUSTER", arguments.cluster, "name, id or file of the cluster, if there are several")
      ->type_name("");
  kill->add_option("--signal", arguments.signal, "TERM, KILL, STOP, CONT, 15, ... [TERM]")->type_name("SIGNAL");
  kill->footer("");
  return kill;
}

CLI::App* add_agent(CLI::App& app) {
  CLI::App* agent = app.add_subcommand("agent", "Runs the processes of one host: `troupe up` starts it through ssh");
  agent->footer("\nIt reads orders from standard input and ends with it. Nobody needs to start it by hand.\n");
  return agent;
}

/// Nodes with keys keep their audit logs where what they print goes, if that is on this machine and no other place is
/// set.
void place_audit_logs(troupe::ClusterConfig& cluster, const Arguments& arguments) {
  using troupe::detail::AuditPlace;
  using troupe::detail::StartOf;
  if (arguments.log_dir.empty()) return;
  switch (audit_place(cluster, arguments.host.empty() ? StartOf::cluster : StartOf::host_part)) {
    case AuditPlace::as_configured: return;
    case AuditPlace::beside_output:
      cluster.node.audit_log = std::filesystem::absolute(arguments.log_dir).string();
      return;
    case AuditPlace::on_other_hosts:
      fmt::print(stderr,
                 "[troupe] --log-dir {}: no audit logs, since not all hosts are this machine: node.audit_log names a "
                 "directory for them on each host\n",
                 arguments.log_dir);
  }
}

int run_keys(Arguments& arguments, const troupe::Variables& variables) {
  if (!arguments.keys_for.empty()) {
    const auto names = troupe::node_names(troupe::load_config(arguments.keys_for, variables, {}));
    arguments.keys.names_wanted.insert(arguments.keys.names_wanted.end(), names.begin(), names.end());
  }
  return troupe::run_keys_command(arguments.keys);
}

/// Opens descriptors 0 to 2 if they are closed: they must not be used for other files.
void open_standard_descriptors() {
  while (true) {
    const int descriptor = open("/dev/null", O_RDWR);
    if (descriptor > STDERR_FILENO || descriptor < 0) {
      if (descriptor >= 0) close(descriptor);
      return;
    }
  }
}

/// The commands whose arguments, once read, say that they are to run. Without any of them it is `troupe up`.
struct Commands {
  Commands(CLI::App& app, Arguments& arguments) {
    add_up(app, arguments);
    node = add_node(app, arguments);
    doctor = add_doctor(app, arguments);
    keys = add_keys(app, arguments);
    audit_verify = add_audit_verify(app, arguments);
    config_show = add_config_show(app, arguments);
    status = add_status(app, arguments);
    stack = add_stack(app, arguments);
    logs = add_logs(app, arguments);
    kill = add_kill(app, arguments);
    agent = add_agent(app);
  }

  const CLI::App* node = nullptr;
  const CLI::App* doctor = nullptr;
  const CLI::App* keys = nullptr;
  const CLI::App* audit_verify = nullptr;
  const CLI::App* config_show = nullptr;
  const CLI::App* status = nullptr;
  const CLI::App* stack = nullptr;
  const CLI::App* logs = nullptr;
  const CLI::App* kill = nullptr;
  const CLI::App* agent = nullptr;
};

/// Prints the help or version that was asked for, or on standard error what is wrong with the arguments. Returns the
/// program's status.
int say_why_not(const CLI::App& app, const CLI::ParseError& error, std::string_view command, const Commands& commands) {
  if (error.get_exit_code() == 0) {
    std::ostringstream text;  // std::cout would forget why it cannot write
    app.exit(error, text);
    fmt::print("{}", text.str());
    return 0;
  }
  std::vector<std::string_view> known;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(one->get_name());
  if (!command.starts_with("-") && std::find(known.begin(), known.end(), command) == known.end()) {
    fmt::print(stderr, "troupe: no command \"{}\"{} (see troupe --help)\n", command,
               troupe::did_you_mean(command, known));
    return kUsageError;
  }
  const bool is_show = commands.config_show->parsed();
  fmt::print(stderr, "troupe: {} (see troupe{} --help)\n", error.what(),
             command.starts_with("-") ? "" : fmt::format(" {}{}", command, is_show ? " show" : ""));
  return kUsageError;
}

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

/// Runs a command that asks running nodes, if it was given. Returns its status.
std::optional<int> run_asking(const Commands& commands, const Arguments& arguments) {
  const auto format = arguments.json ? troupe::ReportFormat::json : troupe::ReportFormat::text;
  const auto patience = milliseconds_of(arguments.timeout);
  if (commands.status->parsed()) {
    const auto peers = arguments.all_peers ? troupe::PeersShown::all : troupe::PeersShown::busiest;
    return troupe::show_status({arguments.cluster, peers, format, patience});
  }
  if (commands.kill->parsed())
    return troupe::kill_node({arguments.node, arguments.cluster, arguments.signal, patience});
  if (commands.stack->parsed()) return troupe::show_stack({arguments.node, arguments.cluster, format, patience});
  if (commands.logs->parsed()) {
    const auto follow = arguments.follow ? troupe::Follow::yes : troupe::Follow::no;
    return troupe::show_logs({arguments.node, arguments.cluster, arguments.lines, follow, format, patience});
  }
  return std::nullopt;
}

/// Runs the command that was given, which asks no running node.
int run_command(const Commands& commands, Arguments& arguments) {
  const troupe::Variables variables = troupe::process_variables();
  if (commands.keys->parsed()) return run_keys(arguments, variables);
  if (commands.agent->parsed()) {
    return troupe::run_agent({STDIN_FILENO, STDOUT_FILENO, TROUPE_VERSION, variables});
  }
  if (commands.audit_verify->parsed()) return troupe::verify_audit(arguments.audit_files);
  if (commands.doctor->parsed()) {
    return troupe::run_doctor({arguments.file, arguments.overrides, arguments.json,
                               milliseconds_of(arguments.step_timeout), variables, TROUPE_VERSION});
  }
  if (arguments.debug) arguments.overrides.push_back("cluster.debug=true");
  troupe::ClusterConfig cluster = troupe::load_config(arguments.file, variables, arguments.overrides);
  if (commands.config_show->parsed()) {
    using troupe::ShowOrigin;
    fmt::print("{}", troupe::describe(cluster, arguments.origin ? ShowOrigin::yes : ShowOrigin::no));
    return 0;
  }
  if (commands.node->parsed()) {
    troupe::become_node({std::move(cluster), arguments.program_arguments, arguments.job_dir, arguments.munge,
                         arguments.key_files, variables});
  }
  place_audit_logs(cluster, arguments);
  const troupe::LaunchOptions launch{.log_dir = arguments.log_dir, .variables = variables, .version = TROUPE_VERSION};
  if (arguments.host.empty()) return troupe::run_cluster(cluster, launch);
  return troupe::run_host_part(std::move(cluster), {arguments.host, arguments.key_files}, launch);
}

/// Takes what follows the first "--" of `troupe node` off the end of `argv`. It is the program's, as it stands: CLI11
/// would make three words of "[64,32]" and none of "[]".
std::vector<std::string> take_program_arguments(int& argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "node") return {};
  const auto end = argv + argc;
  const auto dashes = std::find(argv + 2, end, std::string_view("--"));
  if (dashes == end) return {};
  argc = static_cast<int>(dashes - argv);
  return {dashes + 1, end};
}

int run(int argc, char** argv) {
  Arguments arguments;
  const std::vector<std::string> of_program = take_program_arguments(argc, argv);
  CLI::App app("Runs programs that are made of many processes: distributed tensors and autograd out of actors.",
               "troupe");
  app.set_version_flag("--version", "troupe " TROUPE_VERSION);
  app.require_subcommand(1);
  app.footer(kExamples);
  app.formatter(std::make_shared<HelpFormatter>());
  app.get_formatter()->column_width(28);
  const Commands commands(app, arguments);
  if (argc == 1) {
    fmt::print(stderr, "{}", app.help());
    return kUsageError;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return say_why_not(app, error, argv[1], commands);
  }
  arguments.program_arguments.insert(arguments.program_arguments.end(), of_program.begin(), of_program.end());
  const std::optional<int> status = run_asking(commands, arguments);
  return status ? *status : run_command(commands, arguments);
}

/// Prints a line on standard error. One that cannot be written there is dropped: nothing else could tell of it.
void complain(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

int say_unwritten(int error) {
  complain(fmt::format("troupe: cannot write standard output: {}", std::generic_category().message(error)));
  return 1;
}

/// Writes what stdio still holds. Returns `status`, or 1 if all went well but for that.
int flush(int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  const int failure = say_unwritten(errno == 0 ? EIO : errno);
  return status == 0 ? failure : status;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  try {
    return flush(run(argc, argv));
  } catch (const troupe::ConfigError& error) {
    complain(error.what());
    return kUsageError;
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return say_unwritten(error.code().value());
    complain(fmt::format("troupe: {}", troupe::detail::visible_text(error.what())));
    return 1;
  } catch (const std::exception& error) {
    complain(fmt::format("troupe: {}", troupe::detail::visible_text(error.what())));
    return 1;
  }
}
