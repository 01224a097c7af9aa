#include "tensor/decompositions/einsum_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

namespace troupe::detail {
namespace {

// A letter, or kEllipsis + i for the i-th dimension of an ellipsis counted from its end.
using Label = int;
using Labels = std::vector<Label>;
using Sizes = std::map<Label, std::int64_t>;

constexpr Label kEllipsis = 1000;

bool contains(const Labels& labels, Label label) { return std::ranges::find(labels, label) != labels.end(); }

std::string name_of_label(Label label) {
  return label < kEllipsis ? std::string(1, static_cast<char>(label)) : std::string("...");
}

/// The labels of one operand or of the result; an ellipsis is kEllipsis alone.
Labels read_labels(std::string_view text, std::string_view equation) {
  Labels labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (text.substr(i, 3) == "..." && !contains(labels, kEllipsis)) {
      labels.push_back(kEllipsis);
      i += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
    } else {
      throw ValueError(fmt::format("[einsum] neither a label nor an ellipsis: {} in {}", c, equation));
    }
  }
  return labels;
}

/// Replaces an ellipsis by the labels of `ellipsis_dims` dimensions.
Labels spread(const Labels& labels, int ellipsis_dims) {
  Labels all;
  for (const Label label : labels) {
    if (label != kEllipsis) all.push_back(label);
    else
      for (int i = ellipsis_dims; i > 0; --i) all.push_back(kEllipsis + i - 1);
  }
  return all;
}

void require_single(const Labels& labels, std::string_view where, std::string_view equation) {
  for (auto label = labels.begin(); label != labels.end(); ++label) {
    if (std::find(label + 1, labels.end(), *label) == labels.end()) continue;
    throw ValueError(fmt::format("[einsum] label {} twice in {}: {}", name_of_label(*label), where, equation));
  }
}

/// The labels of the operands and of the result, one per dimension.
struct Equation {
  std::vector<Labels> operands;
  Labels result;
  Sizes sizes;
};

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t comma = text.find(','); comma != text.npos; comma = text.find(',')) {
    parts.push_back(text.substr(0, comma));
    text.remove_prefix(comma + 1);
  }
  parts.push_back(text);
  return parts;
}

Labels labels_for(std::string_view text, const Shape& shape, std::string_view equation) {
  const Labels read = read_labels(text, equation);
  const bool open = contains(read, kEllipsis);
  const int further = shape.size() - static_cast<int>(read.size()) + (open ? 1 : 0);
  if (further < 0 || (further > 0 && !open)) {
    throw ShapeError(
        fmt::format("[einsum] {} labels for {}: {}", read.size() - (open ? 1 : 0), to_string(shape), equation));
  }
  Labels labels = spread(read, further);
  require_single(labels, "one operand", equation);
  return labels;
}

void add_sizes(Sizes& sizes, const Labels& labels, const Shape& shape, std::string_view equation) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int64_t size = shape[static_cast<int>(i)];
    std::int64_t& known = sizes.emplace(labels[i], size).first->second;
    if (known == 1) known = size;
    if (size == 1 || size == known) continue;
    throw ShapeError(fmt::format("[einsum] sizes of label {} differ: {} and {} in {}", name_of_label(labels[i]), known,
                                 size, equation));
  }
}

int ellipsis_dims_of(const Sizes& sizes) {
  const auto first = sizes.lower_bound(kEllipsis);
  return static_cast<int>(std::distance(first, sizes.end()));
}

/// Returns the labels of the result of an equation without `->`.
Labels implied_result(const std::vector<Labels>& operands, const Sizes& sizes) {
  Labels result = spread({kEllipsis}, ellipsis_dims_of(sizes));
  for (const auto& [label, size] : sizes) {
    const auto has = [l = label](const Labels& labels) { return contains(labels, l); };
    if (label < kEllipsis && std::ranges::count_if(operands, has) == 1) result.push_back(label);
  }
  return result;
}

Equation read_equation(std::string_view text, const std::vector<Shape>& shapes) {
  const std::size_t arrow = text.find("->");
  const auto parts = split_at_commas(text.substr(0, arrow));
  if (parts.size() != shapes.size()) {
    throw ValueError(fmt::format("[einsum] {} operands in {}, {} given", parts.size(), text, shapes.size()));
  }
  Equation equation;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    equation.operands.push_back(labels_for(parts[i], shapes[i], text));
    add_sizes(equation.sizes, equation.operands.back(), shapes[i], text);
  }
  if (arrow == text.npos) {
    equation.result = implied_result(equation.operands, equation.sizes);
    return equation;
  }
  equation.result = spread(read_labels(text.substr(arrow + 2), text), ellipsis_dims_of(equation.sizes));
  require_single(equation.result, "the result", text);
  for (const Label label : equation.result) {
    if (equation.sizes.contains(label)) continue;
    throw ValueError(fmt::format("[einsum] label {} of the result is in no operand: {}", name_of_label(label), text));
  }
  return equation;
}

/// Returns the labels of `from` that `keep` accepts, in order.
template <class Keep>
Labels filtered(const Labels& from, const Keep& keep) {
  Labels labels;
  std::ranges::copy_if(from, std::back_inserter(labels), keep);
  return labels;
}

Labels joined(Labels a, const Labels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Shape shape_of(const Labels& labels, const Sizes& sizes) {
  Shape shape;
  for (const Label label : labels) shape.push_back(sizes.at(label));
  return shape;
}

/// Plans the arrangement of an operand with `labels` as `wanted`; sums over its other labels.
EinsumArrangement arrange(const Labels& labels, const Labels& wanted, const Sizes& sizes) {
  EinsumArrangement how{
      .expanded = shape_of(labels, sizes), .summed = {}, .order = {}, .shape = shape_of(wanted, sizes)};
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!contains(wanted, labels[i])) how.summed.push_back(static_cast<int>(i));
  }
  const Labels left = filtered(labels, [&](Label label) { return contains(wanted, label); });
  for (const Label label : wanted) {
    how.order.push_back(static_cast<int>(std::ranges::find(left, label) - left.begin()));
  }
  return how;
}

void append(Shape& shape, const Shape& more) {
  for (const std::int64_t size : more) shape.push_back(size);
}

/// Plans one product of operands with the labels `left` and `right`, keeping the labels that `needed` accepts. Returns
/// the labels of the product.
template <class Needed>
Labels plan_step(const Labels& left, const Labels& right, const Sizes& sizes, const Needed& needed, EinsumStep& step) {
  const Labels batch = filtered(left, [&](Label l) { return contains(right, l) && needed(l); });
  const Labels contracted = filtered(left, [&](Label l) { return contains(right, l) && !needed(l); });
  const Labels rows = filtered(left, [&](Label l) { return !contains(right, l) && needed(l); });
  const Labels columns = filtered(right, [&](Label l) { return !contains(left, l) && needed(l); });
  step.left = arrange(left, joined(joined(batch, rows), contracted), sizes);
  step.right = arrange(right, joined(joined(batch, contracted), columns), sizes);
  step.contracts = !contracted.empty();
  const Shape row_sizes = shape_of(rows, sizes);
  const Shape column_sizes = shape_of(columns, sizes);
  step.left.shape = step.right.shape = step.shape = shape_of(batch, sizes);
  if (step.contracts) {
    // Batch dimensions are not joined, which might need a copy.
    const std::int64_t inner = shape_of(contracted, sizes).numel();
    append(step.left.shape, {row_sizes.numel(), inner});
    append(step.right.shape, {inner, column_sizes.numel()});
  } else {
    append(step.left.shape, row_sizes);
    for (int i = 0; i < column_sizes.size(); ++i) step.left.shape.push_back(1);
    for (int i = 0; i < row_sizes.size(); ++i) step.right.shape.push_back(1);
    append(step.right.shape, column_sizes);
  }
  append(step.shape, row_sizes);
  append(step.shape, column_sizes);
  return joined(joined(batch, rows), columns);
}

}  // namespace

EinsumPlan plan_einsum(std::string_view text, const std::vector<Shape>& shapes) {
  const Equation equation = read_equation(text, shapes);
  EinsumPlan plan;
  Labels labels = equation.operands.front();
  for (auto next = equation.operands.begin() + 1; next != equation.operands.end(); ++next) {
    const auto needed = [&](Label label) {
      return contains(equation.result, label) ||
             std::any_of(next + 1, equation.operands.end(), [&](const Labels& l) { return contains(l, label); });
    };
    labels = plan_step(labels, *next, equation.sizes, needed, plan.steps.emplace_back());
  }
  plan.last = arrange(labels, equation.result, equation.sizes);
  return plan;
}

}  // namespace troupe::detail
