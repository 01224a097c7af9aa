#include "actors/checkpoint/table_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "actors/embedding/row_owners.h"
#include "tensor/error.h"

namespace troupe::detail {
namespace {

[[noreturn]] void fail(const TablePlace& table, const std::string& what) {
  throw ValueError(fmt::format("[checkpoint] table {}: {}", table.name, what));
}

/// A name "groups.G.<kind>.<item>.<state>".
struct StateName {
  std::size_t group = 0;
  std::string item;
  std::string state;
};

/// Returns the parts of a name of that kind; nullopt for other names.
std::optional<StateName> parsed(std::string_view name, std::string_view kind) {
  constexpr std::string_view kGroups = "groups.";
  if (!name.starts_with(kGroups)) return std::nullopt;
  name.remove_prefix(kGroups.size());
  StateName parts;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), parts.group);
  if (error != std::errc()) return std::nullopt;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  if (!name.starts_with(fmt::format(".{}.", kind))) return std::nullopt;
  name.remove_prefix(kind.size() + 2);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  parts.item = name.substr(0, dot);
  parts.state = name.substr(dot + 1);
  return parts;
}

std::optional<std::size_t> number_of(const std::string& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The tables of each group, in the order of their places.
class Places {
 public:
  explicit Places(std::vector<TablePlace> tables) : tables_(std::move(tables)) {
    std::ranges::sort(tables_, {}, [](const TablePlace& table) { return std::pair(table.group, table.first); });
    std::set<std::string> names;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      const TablePlace& table = tables_[i];
      if (table.name.empty() || !names.insert(table.name).second) fail(table, "the name is given twice, or empty");
      if (i == 0 || tables_[i - 1].group != table.group) continue;
      if (tables_[i - 1].first + width(tables_[i - 1]) > table.first)
        fail(table, fmt::format("stands where table {} does", tables_[i - 1].name));
    }
  }

  [[nodiscard]] const TablePlace* called(const std::string& name) const {
    const auto found = std::ranges::find(tables_, name, &TablePlace::name);
    return found == tables_.end() ? nullptr : &*found;
  }
  /// Returns the table of which the parameter is a part; null for other parameters.
  [[nodiscard]] const TablePlace* at(std::size_t group, std::size_t parameter) const {
    for (const TablePlace& table : tables_) {
      if (table.group == group && parameter >= table.first && parameter < table.first + width(table)) return &table;
    }
    return nullptr;
  }
  /// Returns the number of a parameter that is no table, without the tables before it.
  [[nodiscard]] std::size_t without_tables(std::size_t group, std::size_t parameter) const {
    std::size_t number = parameter;
    for (const TablePlace& table : tables_) {
      if (table.group == group && table.first < parameter) number -= width(table);
    }
    return number;
  }
  /// The inverse.
  [[nodiscard]] std::size_t with_tables(std::size_t group, std::size_t number) const {
    std::size_t parameter = number;
    for (const TablePlace& table : tables_) {
      if (table.group == group && table.first <= parameter) parameter += width(table);
    }
    return parameter;
  }

 private:
  static std::size_t width(const TablePlace& table) { return static_cast<std::size_t>(table.owners); }
  std::vector<TablePlace> tables_;
};

Shape with_rows(const Tensor& tensor, std::int64_t rows) {
  Shape shape = tensor.shape();
  shape[0] = rows;
  return shape;
}

/// Copies each row between its place in the whole table and its place in its owner's part.
template <class Copy>
void for_each_row(const TablePlace& table, const Copy& copy) {
  std::vector<std::int64_t> next(static_cast<std::size_t>(table.owners), 0);
  for (std::int64_t row = 0; row < table.rows; ++row) {
    const auto owner = static_cast<std::size_t>(owner_of(row, table.owners));
    copy(row, owner, next[owner]++);
  }
}

std::size_t row_bytes_of(const Tensor& whole) {
  return whole.size(0) == 0 ? 0 : whole.nbytes() / static_cast<std::size_t>(whole.size(0));
}

/// Joins one state of all owners.
Tensor joined(const TablePlace& table, const std::string& state, const std::map<std::size_t, Tensor>& of_owners) {
  if (std::ssize(of_owners) != table.owners) fail(table, "not all owners have " + state);
  std::vector<Tensor> parts;
  std::vector<std::int64_t> counts(of_owners.size(), 0);
  for_each_row(table, [&](std::int64_t, std::size_t owner, std::int64_t) { ++counts[owner]; });
  bool is_rows = true;
  for (const auto& [owner, tensor] : of_owners) {
    parts.push_back(tensor.to(Device::cpu()).contiguous());
    is_rows = is_rows && tensor.dim() > 0 && tensor.size(0) == counts[owner];
  }
  if (!is_rows) {
    for (const Tensor& part : parts) {
      if (part.dtype() != parts[0].dtype() || part.shape() != parts[0].shape() ||
          std::memcmp(part.bytes(), parts[0].bytes(), part.nbytes()) != 0)
        fail(table, "owners differ in " + state);
    }
    return parts.front();
  }
  Tensor whole = Tensor::empty(with_rows(parts[0], table.rows), parts[0].dtype());
  const std::size_t bytes = row_bytes_of(whole);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].dtype() != whole.dtype() || parts[i].shape() != with_rows(whole, counts[i]))
      fail(table, "owners differ in the shape of " + state);
  }
  std::byte* const to = whole.mutable_bytes();
  for_each_row(table, [&](std::int64_t row, std::size_t owner, std::int64_t place) {
    std::memcpy(to + static_cast<std::size_t>(row) * bytes,
                parts[owner].bytes() + static_cast<std::size_t>(place) * bytes, bytes);
  });
  return whole;
}

/// Returns one state's part of each owner.
std::vector<Tensor> split(const TablePlace& table, const std::string& state, const Tensor& tensor) {
  const Tensor whole = tensor.to(Device::cpu()).contiguous();
  std::vector<Tensor> parts;
  if (whole.dim() == 0) return std::vector<Tensor>(static_cast<std::size_t>(table.owners), whole);
  if (whole.size(0) != table.rows) fail(table, fmt::format("{} has {} rows, not {}", state, whole.size(0), table.rows));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(table.owners), 0);
  for_each_row(table, [&](std::int64_t, std::size_t owner, std::int64_t) { ++counts[owner]; });
  std::vector<std::byte*> to;
  for (const std::int64_t count : counts) parts.push_back(Tensor::empty(with_rows(whole, count), whole.dtype()));
  for (Tensor& part : parts) to.push_back(part.mutable_bytes());
  const std::size_t bytes = row_bytes_of(whole);
  for_each_row(table, [&](std::int64_t row, std::size_t owner, std::int64_t place) {
    std::memcpy(to[owner] + static_cast<std::size_t>(place) * bytes,
                whole.bytes() + static_cast<std::size_t>(row) * bytes, bytes);
  });
  return parts;
}

}  // namespace

NamedTensors with_whole_tables(const NamedTensors& state, const std::vector<TablePlace>& tables) {
  const Places places(tables);
  NamedTensors whole;
  std::map<std::pair<const TablePlace*, std::string>, std::map<std::size_t, Tensor>> of_tables;
  for (const auto& [name, tensor] : state) {
    const auto parts = parsed(name, "parameters");
    const auto parameter = parts ? number_of(parts->item) : std::nullopt;
    if (!parameter) {
      whole.emplace_back(name, tensor);
    } else if (const TablePlace* table = places.at(parts->group, *parameter)) {
      of_tables[{table, parts->state}][*parameter - table->first] = tensor;
    } else {
      whole.emplace_back(fmt::format("groups.{}.parameters.{}.{}", parts->group,
                                     places.without_tables(parts->group, *parameter), parts->state),
                         tensor);
    }
  }
  for (const auto& [key, of_owners] : of_tables) {
    const auto& [table, state_name] = key;
    whole.emplace_back(fmt::format("groups.{}.tables.{}.{}", table->group, table->name, state_name),
                       joined(*table, state_name, of_owners));
  }
  return whole;
}

NamedTensors with_split_tables(const NamedTensors& state, const std::vector<TablePlace>& tables) {
  const Places places(tables);
  NamedTensors apart;
  for (const auto& [name, tensor] : state) {
    const auto parts = parsed(name, "parameters");
    const auto number = parts ? number_of(parts->item) : std::nullopt;
    if (number) {
      apart.emplace_back(fmt::format("groups.{}.parameters.{}.{}", parts->group,
                                     places.with_tables(parts->group, *number), parts->state),
                         tensor);
    } else if (const auto of_table = parsed(name, "tables")) {
      const TablePlace* table = places.called(of_table->item);
      if (table == nullptr) throw ValueError(fmt::format("[checkpoint] no table is called \"{}\"", of_table->item));
      const std::vector<Tensor> split_state = split(*table, of_table->state, tensor);
      for (std::size_t owner = 0; owner < split_state.size(); ++owner) {
        apart.emplace_back(
            fmt::format("groups.{}.parameters.{}.{}", table->group, table->first + owner, of_table->state),
            split_state[owner]);
      }
    } else {
      apart.emplace_back(name, tensor);
    }
  }
  return apart;
}

}  // namespace troupe::detail
