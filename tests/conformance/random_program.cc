#include "tests/conformance/random_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "actors/core/wait_point.h"
#include "actors/task.h"
#include "tensor/create.h"
#include "tensor/ops.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kModulus = 1'000'003;
constexpr Duration kStepPatience = 30s;  // limit for one step: a longer step counts as hanging

std::int64_t mix(std::int64_t a, std::int64_t b) { return (31 * a + b) % kModulus; }

/// Waits for `us`, then mixes.
std::int64_t mix_later(std::int64_t a, std::int64_t b, std::int64_t us) {
  static_cast<void>(detail::WaitPoint().wait(std::chrono::steady_clock::now() + std::chrono::microseconds(us)));
  return mix(a, b);
}

double total(const Tensor& tensor) { return sum(tensor).item(); }

void complain(const std::string& text) { throw std::domain_error(text); }

void complain_on(Scope& scope, const NodeName& other, const std::string& text) {
  scope.rpc_sync(other, &complain, text);
}

/// Returns the sum of all values, fetched at once.
Cell sum_of_cells(Scope& scope, const std::vector<RRef<Cell>>& cells) {
  std::vector<Future<Cell>> values;
  for (const RRef<Cell>& cell : cells) values.push_back(cell.to_here_async(scope));
  std::int64_t sum = 0;
  for (const Future<Cell>& value : values) sum += value.get().value();
  return Cell(sum % kModulus);
}

/// Returns the sum of all values, fetched one after the other without blocking a thread.
Task<std::int64_t> sum_in_turn(Scope& scope, std::vector<RRef<Cell>> cells) {
  std::int64_t sum = 0;
  for (const RRef<Cell>& cell : cells) sum += co_await cell.rpc_async(scope, &Cell::value);
  co_return sum % kModulus;
}

/// Passes the reference along `path`. The last node reads the value; the others wait.
std::int64_t read_along(Scope& scope, const RRef<Cell>& cell, std::vector<NodeName> path) {
  if (path.empty()) return cell.to_here(scope).value();
  const NodeName next = path.back();
  path.pop_back();
  return scope.rpc_sync(next, &read_along, cell, path);
}

std::vector<RRef<Cell>> give_cells_back(std::vector<RRef<Cell>> cells) { return cells; }

/// Returns a reference to a new cell of this node.
RRef<Cell> cell_here(Scope& scope, std::int64_t value) { return RRef<Cell>(scope, Cell(value)); }

/// Returns a text with difficult content for formats, terminals, encodings and limits; what() ends at a zero byte.
std::string odd_text(std::mt19937_64& random) {
  static const std::array<std::string, 6> texts{"",
                                                "{} {0} %s %n \\ \"'",
                                                "\n\r\t\x1b[31m",
                                                "\xff\xfe\xc3 no UTF-8",
                                                "\u65e5\u672c\u8a9e \U0001F3AD",
                                                std::string(50'000, 'x')};
  const std::size_t which = random() % (texts.size() + 1);
  if (which < texts.size()) return texts[which];
  std::string bytes(random() % 200, ' ');
  for (char& byte : bytes) byte = static_cast<char>(1 + random() % 255);
  return bytes;
}

/// The manner of a call.
enum class Manner { patient, hurried, cancelled };

/// The errors with which a step may fail.
using Failures = std::vector<ErrorCode>;

struct End {
  std::string how;
  bool right = true;
};

template <class T>
using Judge = std::function<End(const Result<T>&)>;

End end_of(const Error& error, const Failures& failures) {
  if (std::find(failures.begin(), failures.end(), error.code) == failures.end()) return {error.text(), false};
  return {std::string(name_of(error.code))};
}

template <class T>
Judge<T> is(T expected, Failures failures = {}) {
  return [expected = std::move(expected), failures = std::move(failures)](const Result<T>& end) -> End {
    if (!end.ok()) return end_of(end.error(), failures);
    if (end.value() != expected) return {"another value", false};
    return {"value"};
  };
}

Judge<Cell> is_cell(std::int64_t expected, Failures failures) {
  return [expected, failures = std::move(failures)](const Result<Cell>& end) -> End {
    if (!end.ok()) return end_of(end.error(), failures);
    return {fmt::format("value{}", end.value().value() == expected ? "" : " of another cell"),
            end.value().value() == expected};
  };
}

/// Expects that the call throws `text` on `node`: in its function, or (`below`) in a nested call.
Judge<Unit> throws(const NodeName& node, const std::string& text, bool below, Failures failures) {
  return [=](const Result<Unit>& end) -> End {
    if (end.ok()) return {"no exception", false};
    const Error& error = end.error();
    const bool thrown = error.code == ErrorCode::remote_exception && error.peer == node;
    if (thrown && !below && error.message == text && error.exception_type == "std::domain_error") return {"exception"};
    if (thrown && below && error.cause.find(text) != std::string::npos) return {"exception"};
    return end_of(error, failures);
  };
}

/// The program's knowledge about a cell that it created itself.
struct OwnCell {
  int serial = 0;
  bool in_cycle = false;  ///< holds a cell that is not older: it must be closed, or both stay for ever
  std::int64_t touched_min = 0;
  std::int64_t touched_max = 0;
};

struct BagCell : KnownCell {
  std::shared_ptr<OwnCell> own;  // shared by all handles of one cell; null for a cell of the calling program
};

class RandomProgram {
 public:
  RandomProgram(Scope& scope, const ProgramScript& script, const std::vector<KnownCell>& given)
      : scope_(scope.with({.deadline = kStepPatience})), script_(script), random_(script.seed) {
    for (const KnownCell& known : given) bag_.push_back({known, nullptr});
  }

  ProgramReport run() {
    for (std::int32_t i = 0; i < script_.steps; ++i) step();
    while (!pending_.empty()) look_at(0);
    for (const BagCell& cell : bag_) check_touches(cell);
    while (!bag_.empty()) drop(0);
    return std::move(report_);
  }

 private:
  void step() {
    static constexpr std::array<void (RandomProgram::*)(), 18> kSteps{
        &RandomProgram::create,    &RandomProgram::create,    &RandomProgram::own,         &RandomProgram::call,
        &RandomProgram::call_late, &RandomProgram::complain,  &RandomProgram::send_tensor, &RandomProgram::derive,
        &RandomProgram::fetch,     &RandomProgram::read,      &RandomProgram::twice,       &RandomProgram::sum,
        &RandomProgram::hand_on,   &RandomProgram::give_back, &RandomProgram::touch,       &RandomProgram::hold,
        &RandomProgram::drop_one,  &RandomProgram::go_down};
    (this->*kSteps[draw(kSteps.size())])();
    while (pending_.size() > 12 || (!pending_.empty() && draw(3) == 0)) look_at(draw(pending_.size()));
  }

  // Steps that create values.
  void create() {
    const Manner manner = draw_manner();
    const std::int64_t value = draw_value();
    keep(through(manner).remote(draw_node(), constructor<Cell, std::int64_t>, value), value, manner == Manner::hurried);
  }
  void own() {
    const std::int64_t value = draw_value();
    if (draw(2) == 0) return keep(RRef<Cell>(scope_, Cell(value)), value, false);
    keep(scope_.rpc_sync(draw_node(), &cell_here, value), value, false);
  }
  void derive() {
    const Manner manner = draw_manner();
    const std::vector<BagCell> cells = draw_cells();
    const bool doubtful = manner == Manner::hurried || any_doubtful(cells);
    keep(through(manner).remote(draw_node(), &sum_of_cells, references(cells)), sum_of(cells), doubtful);
  }
  void twice() {
    if (bag_.empty()) return;
    const Manner manner = draw_manner();
    const BagCell cell = draw_cell();
    const bool doubtful = manner == Manner::hurried || cell.doubtful;
    keep(cell.cell.remote(through(manner), &Cell::twice), 2 * cell.value % kModulus, doubtful);
  }

  // Steps that make calls.
  void call() {
    const Manner manner = draw_manner();
    const std::int64_t a = draw_value();
    const std::int64_t b = draw_value();
    const auto future = through(manner).rpc_async(draw_node(), &mix, a, b);
    if (draw(2) == 0) return expect("call", manner, future, is(mix(a, b), failures(manner)));
    const auto next = future.then([](std::int64_t mixed) { return mixed + 1; });
    expect("call then", manner, next, is(mix(a, b) + 1, failures(manner)));
  }
  void call_late() {
    const Manner manner = draw_manner();
    const std::int64_t a = draw_value();
    const auto future = through(manner).rpc_async(draw_node(), &mix_later, a, a, draw_value() / 2);
    expect("late call", manner, future, is(mix(a, a), failures(manner)));
  }
  void complain() {
    const Manner manner = draw_manner();
    const std::string text = odd_text(random_);
    const NodeName node = draw_node();
    if (draw(2) == 0) {
      const auto future = through(manner).rpc_async(node, &testing::complain, text);
      return expect("exception", manner, future, throws(node, text, false, failures(manner)));
    }
    const auto future = through(manner).rpc_async(node, &complain_on, draw_node(), text);
    expect("exception below", manner, future, throws(node, text, true, failures(manner)));
  }
  void send_tensor() {
    const Manner manner = draw_manner();
    const auto size = static_cast<std::int64_t>(1 + draw(draw(4) == 0 ? 100'000 : 100));
    const auto future = through(manner).rpc_async(draw_node(), &total, full({size}, 3));
    expect("tensor", manner, future, is(3.0 * static_cast<double>(size), failures(manner)));
  }

  // Steps that use references, here and on other nodes.
  void fetch() {
    if (bag_.empty()) return;
    const Manner manner = draw_manner();
    const BagCell cell = draw_cell();
    if (cell.cell.is_owner() && !cell.doubtful) {
      return count("local value", is(cell.value)(Result<std::int64_t>(cell.cell.local_value(scope_)->value())));
    }
    expect("fetch", manner, cell.cell.to_here_async(through(manner)),
           is_cell(cell.value, failures(manner, cell.doubtful)));
  }
  void read() {
    if (bag_.empty()) return;
    const Manner manner = draw_manner();
    const BagCell cell = draw_cell();
    expect("read", manner, cell.cell.rpc_async(through(manner), &Cell::value),
           is(cell.value, failures(manner, cell.doubtful)));
  }
  void sum() {
    const Manner manner = draw_manner();
    const std::vector<BagCell> cells = draw_cells();
    const auto future = through(manner).rpc_async(draw_node(), &sum_in_turn, references(cells));
    expect("sum", manner, future, is(sum_of(cells), failures(manner, any_doubtful(cells))));
  }
  void hand_on() {
    if (bag_.empty()) return;
    const Manner manner = draw_manner();
    const BagCell cell = draw_cell();
    std::vector<NodeName> path(draw(4));
    for (NodeName& node : path) node = draw_node();
    const auto future = through(manner).rpc_async(draw_node(), &read_along, cell.cell, path);
    expect("hand on", manner, future, is(cell.value, failures(manner, cell.doubtful)));
  }
  void give_back() {
    const Manner manner = draw_manner();
    const std::vector<BagCell> cells = draw_cells();
    const auto future = through(manner).rpc_async(draw_node(), &give_cells_back, references(cells));
    expect("give back", manner, future, is(references(cells), failures(manner, any_doubtful(cells))));
    bag_.insert(bag_.end(), cells.begin(), cells.end());
  }
  void touch() {
    if (bag_.empty()) return;
    const Manner manner = draw_manner();
    const BagCell cell = draw_cell();
    if (!cell.own) return;
    cell.own->touched_max += 1;
    cell.own->touched_min += manner == Manner::patient ? 1 : 0;
    expect("touch", manner, cell.cell.rpc_async(through(manner), &Cell::touch),
           is(Unit{}, failures(manner, cell.doubtful)));
  }
  void hold() {
    if (bag_.empty()) return;
    const Manner manner = draw_manner();
    const BagCell holder = draw_cell();
    const BagCell held = draw(3) == 0 ? holder : draw_cell();
    if (!holder.own || holder.doubtful || held.doubtful) return;  // either may not exist
    if (held.own && held.own->serial >= holder.own->serial) holder.own->in_cycle = true;
    const auto future = holder.cell.rpc_async(through(manner), &Cell::hold, held.cell);
    expect(holder.cell == held.cell ? "hold itself" : "hold", manner, future, is(Unit{}, failures(manner)));
  }
  void drop_one() {
    if (!bag_.empty()) drop(draw(bag_.size()));
  }
  void go_down() {
    if (script_.depth == 0) return;
    const ProgramScript below{random_(), script_.steps / 3, script_.depth - 1, script_.nodes};
    const std::vector<BagCell> cells = draw_cells();
    const auto future =
        scope_.rpc_async(draw_node(), &run_program, below, std::vector<KnownCell>(cells.begin(), cells.end()));
    const Failures may_fail = failures(Manner::patient, any_doubtful(cells));
    expect<ProgramReport>("program", Manner::patient, future, [this, may_fail](const Result<ProgramReport>& end) {
      if (!end.ok()) return end_of(end.error(), may_fail);
      report_.add(end.value());
      return End{"value"};
    });
  }

  // Steps at the end of a reference's life.
  void drop(std::size_t place) {
    const BagCell cell = bag_[place];
    bag_.erase(bag_.begin() + static_cast<std::ptrdiff_t>(place));
    if (!cell.own || !cell.own->in_cycle) return;
    expect("close", Manner::patient, cell.cell.rpc_async(scope_, &Cell::close), is(Unit{}));
    look_at(pending_.size() - 1);
  }
  void check_touches(const BagCell& cell) {
    if (!cell.own || cell.doubtful) return;
    const std::int64_t touched = cell.cell.rpc_sync(scope_, &Cell::touched);
    const bool right = touched >= cell.own->touched_min && touched <= cell.own->touched_max;
    count("touched",
          {right ? "value" : fmt::format("{}, not {} to {}", touched, cell.own->touched_min, cell.own->touched_max),
           right});
  }

  /// Checks the outcome of `future` later.
  template <class T>
  void expect(std::string kind, Manner manner, const Future<T>& future, Judge<typename Future<T>::Value> judge) {
    if (manner == Manner::cancelled && draw(2) == 0) future.cancel();  // otherwise when its outcome is checked
    pending_.push_back([this, kind = std::move(kind), manner, future, judge = std::move(judge)] {
      if (manner == Manner::cancelled) future.cancel();
      const auto end = future.get_for(2 * kStepPatience);
      count(kind, end ? judge(*end) : End{"no end", false});
    });
  }

  void look_at(std::size_t place) {
    const std::function<void()> look = std::move(pending_[place]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(place));
    look();
  }

  void count(const std::string& kind, const End& end) {
    if (end.right) {
      ++report_.ends[kind + ": " + end.how];
    } else {
      report_.wrong.push_back(fmt::format("{} on {}, seed {}: {}", kind, scope_.node_name(), script_.seed, end.how));
    }
  }

  // Returns the permitted errors of a step.
  static Failures failures(Manner manner, bool doubtful = false) {
    if (doubtful)
      return {ErrorCode::timeout, ErrorCode::cancelled, ErrorCode::ref_revoked, ErrorCode::remote_exception};
    if (manner == Manner::hurried) return {ErrorCode::timeout, ErrorCode::remote_exception};  // of a nested call
    if (manner == Manner::cancelled) return {ErrorCode::cancelled};
    return {};
  }
  static bool any_doubtful(const std::vector<BagCell>& cells) {
    return std::any_of(cells.begin(), cells.end(), [](const BagCell& cell) { return cell.doubtful; });
  }
  static std::int64_t sum_of(const std::vector<BagCell>& cells) {
    std::int64_t sum = 0;
    for (const BagCell& cell : cells) sum += cell.value;
    return sum % kModulus;
  }
  static std::vector<RRef<Cell>> references(const std::vector<BagCell>& cells) {
    std::vector<RRef<Cell>> references;
    for (const BagCell& cell : cells) references.push_back(cell.cell);
    return references;
  }
  void keep(RRef<Cell> cell, std::int64_t value, bool doubtful) {
    bag_.push_back({{std::move(cell), value, doubtful}, std::make_shared<OwnCell>(OwnCell{.serial = next_serial_++})});
  }

  // Draws depend on the seed only, never on an outcome.
  std::size_t draw(std::size_t below) { return random_() % below; }
  std::int64_t draw_value() { return static_cast<std::int64_t>(draw(1000)); }
  const NodeName& draw_node() { return script_.nodes[draw(script_.nodes.size())]; }
  BagCell draw_cell() { return bag_[draw(bag_.size())]; }
  std::vector<BagCell> draw_cells() {
    std::vector<BagCell> cells(bag_.empty() ? 0 : draw(4));
    for (BagCell& cell : cells) cell = draw_cell();
    return cells;
  }
  Manner draw_manner() {
    const std::size_t drawn = draw(10);
    return drawn == 0 ? Manner::hurried : drawn == 1 ? Manner::cancelled : Manner::patient;
  }
  Scope through(Manner manner) {
    if (manner != Manner::hurried) return scope_;
    return scope_.with({.deadline = std::chrono::microseconds(draw(800))});
  }

  const Scope scope_;
  const ProgramScript script_;
  std::mt19937_64 random_;
  int next_serial_ = 0;
  std::vector<BagCell> bag_;
  std::vector<std::function<void()>> pending_;
  ProgramReport report_;
};

}  // namespace

Cell Cell::twice() const { return Cell(2 * value_ % kModulus); }

void Cell::touch() {
  const std::int64_t before = touched_;
  std::this_thread::yield();
  touched_ = before + 1;
}

void Cell::hold(const RRef<Cell>& other) {
  if (!closed_) held_.push_back(other);
}

void Cell::close() {
  closed_ = true;
  held_.clear();
}

void ProgramReport::add(const ProgramReport& other) {
  for (const auto& [end, times] : other.ends) ends[end] += times;
  wrong.insert(wrong.end(), other.wrong.begin(), other.wrong.end());
}

ProgramReport run_program(Scope& scope, const ProgramScript& script, const std::vector<KnownCell>& given) {
  return RandomProgram(scope, script, given).run();
}

FunctionRegistry with_program_functions(const FunctionRegistry& functions) {
  return functions.with({{"Cell", constructor<Cell, std::int64_t>},
                         {"Cell::value", &Cell::value},
                         {"Cell::twice", &Cell::twice},
                         {"Cell::touch", &Cell::touch},
                         {"Cell::touched", &Cell::touched},
                         {"Cell::hold", &Cell::hold},
                         {"Cell::close", &Cell::close},
                         {"mix", &mix},
                         {"mix_later", &mix_later},
                         {"total", &total},
                         {"complain", &complain},
                         {"complain_on", &complain_on},
                         {"sum_of_cells", &sum_of_cells},
                         {"sum_in_turn", &sum_in_turn},
                         {"read_along", &read_along},
                         {"give_cells_back", &give_cells_back},
                         {"cell_here", &cell_here},
                         {"run_program", &run_program}});
}

}  // namespace troupe::testing
