// The structure of wire types as text, and its hash: caller and callee compare it before anything is decoded.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "messages/archive.h"
#include "messages/ids.h"

namespace troupe {

/// Runs `serialize` (or `save`) of user types to learn their fields; writes no values. The text is the same under every
/// compiler: types appear by structure, never by name. A user type is described by a default-constructed value: fields
/// that it writes only in some states are not included.
class SchemaArchive : public cereal::OutputArchive<SchemaArchive, cereal::AllowEmptyClassElision> {
 public:
  SchemaArchive();
  ~SchemaArchive();

  /// Called by serialize functions: describes the type of each field.
  template <class... Ts>
  SchemaArchive& operator()(Ts&&... fields) {
    (field(fields), ...);
    return *this;
  }
  template <class T>
  SchemaArchive& operator&(T&& value) {
    return (*this)(value);
  }
  template <class T>
  SchemaArchive& operator<<(T&& value) {
    return (*this)(value);
  }

  /// Appends one word: "i32", "tensor".
  void token(std::string_view word);

  template <class T>
  void type() {
    WireFormat<std::remove_cv_t<T>>::describe(*this);
  }

  /// Appends "name<A,B>".
  template <class... Ts>
  void list(std::string_view name) {
    token(name);
    open('<');
    (type<Ts>(), ...);
    close('>');
  }

  /// Appends "{field,field}", or "^2" inside itself, where 2 counts the user types around; "object" for a type whose
  /// values stay on one node.
  template <class T>
  void user_type() {
    if constexpr (!Travels<T>) return token("object");
    else describe_fields<T>();
  }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  template <class T>
  static constexpr char kMark{};

  template <class T>
  void describe_fields() {
    if (enclosing(&kMark<T>)) return;
    open('{');
    inside_.push_back(&kMark<T>);
    const auto sample = std::make_unique<T>();
    if constexpr (!detail::Serializes<T> && detail::PlainStruct<T>) {
      detail::with_plain_fields(*sample, [this](const auto&... fields) { (*this)(fields...); });
    } else {
      OutputArchive::operator()(*sample);
    }
    inside_.pop_back();
    close('}');
  }

  template <class T>
  void field(const T&) {
    type<T>();
  }
  template <class T>
  void field(const cereal::NameValuePair<T>&) {
    type<std::remove_cvref_t<T>>();
  }
  template <class T>
  void field(const cereal::SizeTag<T>&) {
    token("length");
  }
  template <class T>
  void field(const cereal::BinaryData<T>&) {
    token("bytes");
  }
  template <class T>
  void field(const cereal::base_class<T>& base) {
    OutputArchive::operator()(base);
  }

  void open(char bracket);
  void close(char bracket);
  bool enclosing(const void* mark);

  std::string text_;
  std::vector<const void*> inside_;
};

// For cereal's own writes: class versions and the values of save_minimal.
template <class T>
  requires(detail::Number<T> || detail::Enum<T>)
void save(SchemaArchive& ar, const T& value) {
  ar(value);
}
inline void save(SchemaArchive& ar, const std::string& value) { ar(value); }
template <class T>
void save(SchemaArchive& ar, const cereal::NameValuePair<T>& pair) {
  ar(pair);
}

/// Returns the structure of these types, e.g. "tensor,list<i64>,{f32,string}".
template <class... Ts>
[[nodiscard]] std::string schema_of() {
  SchemaArchive ar;
  (ar.template type<Ts>(), ...);
  return ar.text();
}

/// Returns the hash of a schema's text.
[[nodiscard]] Fingerprint fingerprint_of_schema(std::string_view schema);

/// Returns the hash of the structure of these types, in order.
template <class... Ts>
[[nodiscard]] Fingerprint fingerprint_of() {
  return fingerprint_of_schema(schema_of<Ts...>());
}

}  // namespace troupe

/// The input archive that reads what the schema describes: cereal needs it before it calls save_minimal.
template <>
struct cereal::traits::detail::get_input_from_output<troupe::SchemaArchive> {
  using type = troupe::InArchive;
};
