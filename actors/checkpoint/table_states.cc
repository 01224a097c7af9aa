#include "actors/checkpoint/table_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "actors/embedding/row_owners.h"
#include "tensor/error.h"

namespace troupe::detail {
namespace {

constexpr std::size_t kOwnersMax = std::size_t{1} << 20;  // a name with more is not one of ours

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

/// A name "groups.G.table_parts.<owner>.<owners>.<table>.<state>".
struct PartName {
  std::size_t owner = 0;
  std::int64_t owners = 0;
  std::string table;
  std::string state;
};

/// Returns the parts of such a name; nullopt for other names, and if there is no such owner.
std::optional<PartName> parsed_part(std::string_view name) {
  const auto parts = parsed(name, "table_parts");
  if (!parts) return std::nullopt;
  const std::size_t first = parts->item.find('.');
  const std::size_t second = first == std::string::npos ? first : parts->item.find('.', first + 1);
  if (second == std::string::npos) return std::nullopt;
  const auto owner = number_of(parts->item.substr(0, first));
  const auto owners = number_of(parts->item.substr(first + 1, second - first - 1));
  if (!owner || !owners || *owner >= *owners || *owners > kOwnersMax) return std::nullopt;
  return PartName{*owner, static_cast<std::int64_t>(*owners), parts->item.substr(second + 1), parts->state};
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

  [[nodiscard]] const TablePlace& called(const std::string& name) const {
    const auto found = std::ranges::find(tables_, name, &TablePlace::name);
    if (found == tables_.end()) throw ValueError(fmt::format("[checkpoint] no table is called \"{}\"", name));
    return *found;
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

std::function<std::string(const std::string& name)> checkpoint_names(std::vector<TablePlace> tables) {
  return [places = Places(std::move(tables))](const std::string& name) {
    const auto parts = parsed(name, "parameters");
    const auto parameter = parts ? number_of(parts->item) : std::nullopt;
    if (!parameter) return name;
    if (const TablePlace* table = places.at(parts->group, *parameter)) {
      return fmt::format("groups.{}.table_parts.{}.{}.{}.{}", parts->group, *parameter - table->first, table->owners,
                         table->name, parts->state);
    }
    return fmt::format("groups.{}.parameters.{}.{}", parts->group, places.without_tables(parts->group, *parameter),
                       parts->state);
  };
}

NamedTensors with_split_tables(const NamedTensors& saved, const std::vector<TablePlace>& tables) {
  const Places places(tables);
  NamedTensors apart;
  const auto add_part = [&](const TablePlace& table, std::size_t owner, const std::string& state,
                            const Tensor& tensor) {
    apart.emplace_back(fmt::format("groups.{}.parameters.{}.{}", table.group, table.first + owner, state), tensor);
  };
  const auto add_whole = [&](const TablePlace& table, const std::string& state, const Tensor& tensor) {
    const std::vector<Tensor> parts = split(table, state, tensor);
    for (std::size_t owner = 0; owner < parts.size(); ++owner) add_part(table, owner, state, parts[owner]);
  };
  std::map<std::tuple<const TablePlace*, std::int64_t, std::string>, std::map<std::size_t, Tensor>> of_other_owners;
  for (const auto& [name, tensor] : saved) {
    const auto parts = parsed(name, "parameters");
    const auto number = parts ? number_of(parts->item) : std::nullopt;
    if (number) {
      apart.emplace_back(fmt::format("groups.{}.parameters.{}.{}", parts->group,
                                     places.with_tables(parts->group, *number), parts->state),
                         tensor);
    } else if (const auto whole = parsed(name, "tables")) {
      add_whole(places.called(whole->item), whole->state, tensor);
    } else if (const auto part = parsed_part(name)) {
      const TablePlace& table = places.called(part->table);
      if (part->owners == table.owners) add_part(table, part->owner, part->state, tensor);
      else of_other_owners[{&table, part->owners, part->state}][part->owner] = tensor;
    } else {
      apart.emplace_back(name, tensor);
    }
  }
  for (const auto& [key, of_owners] : of_other_owners) {
    const auto& [table, owners, state] = key;
    TablePlace before = *table;
    before.owners = owners;
    add_whole(*table, state, joined(before, state, of_owners));
  }
  return apart;
}

}  // namespace troupe::detail
