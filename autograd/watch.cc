#include "autograd/watch.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "autograd/describe.h"
#include "autograd/vertex_notes.h"
#include "tensor/ops.h"

namespace troupe {
namespace {

thread_local const LabelGuard* label_guard_of_thread = nullptr;

std::string labels_here() {
  std::string path;
  for (const LabelGuard* guard = label_guard_of_thread; guard != nullptr; guard = guard->outside()) {
    path = std::string(guard->label()) + (path.empty() ? "" : "/") + path;
  }
  return path;
}

}  // namespace

LabelGuard::LabelGuard(std::string_view label) noexcept
    : label_(label), outside_(std::exchange(label_guard_of_thread, this)) {}
LabelGuard::~LabelGuard() { label_guard_of_thread = outside_; }

namespace detail {

const LabelGuard* label_guard_here() noexcept { return label_guard_of_thread; }
const LabelGuard* exchange_label_guard_here(const LabelGuard* guard) noexcept {
  return std::exchange(label_guard_of_thread, guard);
}

std::optional<std::string> complaint_about(const Tensor& value, Anomaly what) {
  if (!value.defined() || !is_floating(value.dtype())) return std::nullopt;
  const Tensor wrong = what == Anomaly::nan ? isnan(value) : logical_not(isfinite(value));
  if (!any(wrong).item<bool>()) return std::nullopt;
  const std::int64_t element = argmax(wrong.to(DType::u8).reshape({-1}), 0).item<std::int64_t>();
  const double found = value.reshape({-1}).select(0, element).item();
  const char* name = std::isnan(found) ? "nan" : found > 0.0 ? "inf" : "-inf";
  return fmt::format("{} has {} at element {}", describe(value), name, element);
}

std::string made_as(const GradFn& fn) {
  std::string text = fmt::format("; made as operation {}", fn.mark().serial);
  if (const std::string call = fn.mark().path().text(); !call.empty()) text += " of call " + call;
  const VertexNotes* notes = fn.notes_if_any();
  if (notes != nullptr && notes->watched && !notes->watched->label.empty()) text += " in " + notes->watched->label;
  return text;
}

void watch(const AnomalyGuard& guard, const Edge& edge, const Tensor& value) {
  edge.fn->notes().watched = Watched{guard.what(), labels_here()};
  if (const auto complaint = complaint_about(value, guard.what())) {
    throw AnomalyError(
        fmt::format("[anomaly] {}: result {}: {}{}", edge.fn->name(), edge.slot, *complaint, made_as(*edge.fn)));
  }
}

}  // namespace detail
}  // namespace troupe
