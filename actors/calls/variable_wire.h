// How a Variable travels. Included wherever values of any type are encoded or decoded, so that all agree.
#pragma once

#include "autograd/variable.h"
#include "messages/archive.h"
#include "messages/schema.h"

namespace troupe {

/// A Variable travels as its value, its requires-gradient flag and its index in the message's boundary. Outside a call
/// or its result it throws EncodeError or DecodeError: the archive must be that of a PayloadWriter or PayloadReader,
/// whose source file defines save and load.
template <>
struct WireFormat<Variable> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& archive, const Variable& variable);
  static void load(InArchive& archive, Variable& variable);
  template <class Schema>
  static void describe(Schema& schema) {
    schema.token("variable");
  }
};

}  // namespace troupe
