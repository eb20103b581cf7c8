// Arrays on devices, their formulas and operators.
#include <nanobind/operators.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>
#include <vector>

#include "algorithms/expressions/context.hpp"
#include "algorithms/expressions/linear_operator.hpp"
#include "algorithms/expressions/session_recorder.hpp"
#include "algorithms/projectors/default_projector.hpp"
#include "algorithms/projectors/user_projector.hpp"
#include "algorithms/solvers/projector_operator.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "python/src/core.hpp"
#include "python/src/geometry_class.hpp"
#include "python/src/lazy.hpp"

namespace halocline::python {
namespace {

namespace ex = halocline::expressions;
using ex::Op;
using ex::Scalar;

// Work that waits for devices: in a thread of its own, so that Ctrl-C ends it.
template <typename Work>
void computed(Work&& work) {
  struct Computing : Cancellable {
    explicit Computing(Work& w) : what(w) {}
    void work() override {
      const CancellationScope scope(&cancellation);
      const std::lock_guard lock(lazy_mutex());
      what();
    }
    void cancel() override { cancellation.request(); }
    void meanwhile() override {}
    Work& what;
    Cancellation cancellation;
  } computing(work);
  run_interruptible(computing);
}

// Work that only records: without the lock of the interpreter, as another thread may be computing.
template <typename Work>
auto recorded(Work&& work) {
  return guarded([&] {
    const nb::gil_scoped_release released;
    const std::lock_guard lock(lazy_mutex());
    return work();
  });
}

double number(const Scalar& scalar) {
  if (const auto known = recorded([&] { return scalar.known(); })) return *known;
  double result = 0;
  computed([&] { result = ex::value(scalar); });
  return result;
}

nb::object get(Lazy& array) {
  Volume volume;
  computed([&] {
    record_all(array.space());
    volume = ex::read(array.array());
  });
  return array_of(to_typed(std::move(volume)));
}

LazyPointer made(ex::Array array) {
  return std::make_shared<Lazy>(std::move(array));
}

MemorySource source_of(const ex::Space& space, const Values& values) {
  if (values.size() != space.grid().count()) throw nb::value_error("the values do not fit the space");
  if (component_of(values.dtype()) != Component::float32) throw nb::value_error("the values are not float32");
  return {space.grid(), static_cast<const float*>(values.data())};
}

LazyPointer load_values(const ex::Space& space, const Values& values) {
  const MemorySource source = source_of(space, values);
  LazyPointer result;
  computed([&] { result = made(ex::load(space, source)); });
  return result;
}

template <Op op>
LazyPointer of_two(const LazyPointer& a, const LazyPointer& b) {
  return recorded([&] { return formula(op, {{a, {}}, {b, {}}}); });
}
template <Op op>
LazyPointer with_number(const LazyPointer& a, const Scalar& b) {
  return recorded([&] { return formula(op, {{a, {}}, {nullptr, b}}); });
}
template <Op op>
LazyPointer number_with(const LazyPointer& b, const Scalar& a) {
  return recorded([&] { return formula(op, {{nullptr, a}, {b, {}}}); });
}
template <Op op>
LazyPointer of_one(const LazyPointer& a) {
  return recorded([&] { return formula(op, {{a, {}}}); });
}

template <Op op, typename Class>
void add_binary(Class& array, const char* name, const char* reversed) {
  array.def(name, &of_two<op>, nb::is_operator()).def(name, &with_number<op>, nb::is_operator());
  array.def(reversed, &number_with<op>, nb::is_operator());
}

template <Op op>
void add_pair(nb::module_& module, const char* name) {
  module.def(name, &of_two<op>).def(name, &with_number<op>).def(name, [](const Scalar& a, const LazyPointer& b) {
    return number_with<op>(b, a);
  });
}

LazyPointer derivative(const LazyPointer& a, int axis, Op op) {
  return recorded([&] {
    if (axis < 0 || axis > 2 || (axis == 2 && a->space().kind() != ArrayKind::volume))
      throw InputError({.what = "`axis`", .found = std::to_string(axis), .expected = "0, 1 or, of volumes, 2"});
    const double spacing = a->space().grid().spacing[static_cast<std::size_t>(axis)];
    return formula(Op::divide, {{of_neighbours(a, op, axis, 0), {}}, {nullptr, Scalar(spacing)}});
  });
}

// A number of an array: max, say.
template <class Reduction>
auto reduced(Reduction reduction) {
  return [reduction](const LazyPointer& a) {
    return recorded([&] {
      record_all(a->space());
      return reduction(a->array());
    });
  };
}
const auto largest_of = reduced([](const ex::Array& a) { return ex::max(a); });
const auto least_of = reduced([](const ex::Array& a) { return ex::min(a); });
const auto norm_inf_of = reduced([](const ex::Array& a) { return ex::norm_inf(a); });

void add_functions(nb::module_& module) {
  module.def("sqrt", &of_one<Op::square_root>).def("sqrt", [](const Scalar& a) { return sqrt(a); });
  module.def("exp", &of_one<Op::exponential>);
  module.def("log", &of_one<Op::logarithm>);
  add_pair<Op::minimum>(module, "minimum");
  add_pair<Op::maximum>(module, "maximum");
  module.def("where", [](const LazyPointer& c, const LazyPointer& a, const LazyPointer& b) {
    return recorded([&] { return formula(Op::where, {{c, {}}, {a, {}}, {b, {}}}); });
  });
  module.def("shift", [](const LazyPointer& a, int axis, int by) {
    return recorded([&] {
      (void)ex::shift(a->array(), axis, by);  // which refuses a wrong axis
      return of_neighbours(a, Op::shifted, axis, by);
    });
  });
  module.def("gradient", [](const LazyPointer& a, int axis) { return derivative(a, axis, Op::difference); });
  module.def("adjoint_gradient",
             [](const LazyPointer& a, int axis) { return derivative(a, axis, Op::adjoint_difference); });
  module.def("sum", reduced([](const ex::Array& a) { return ex::sum(a); }));
  module.def("max", largest_of).def("min", least_of).def("norm_inf", norm_inf_of);
  module.def("dot", [](const LazyPointer& a, const LazyPointer& b) {
    return recorded([&] {
      record_all(a->space());
      return ex::dot(a->array(), b->array());
    });
  });
}

void add_scalar(nb::module_& module) {
  nb::class_<Scalar>(module, "Scalar", "A number that may be known later: float() computes it.")
      .def(nb::init<double>())
      .def("__float__", &number)
      .def("__repr__", [](const Scalar& a) { return nb::str("Scalar({})").format(number(a)); })
      .def(nb::self + nb::self)
      .def(nb::self - nb::self)
      .def(nb::self * nb::self)
      .def(nb::self / nb::self)
      .def(-nb::self)
      .def("__radd__", [](const Scalar& b, double a) { return Scalar(a) + b; })
      .def("__rsub__", [](const Scalar& b, double a) { return Scalar(a) - b; })
      .def("__rmul__", [](const Scalar& b, double a) { return Scalar(a) * b; })
      .def("__rtruediv__", [](const Scalar& b, double a) { return Scalar(a) / b; })
      .def("__lt__", [](const Scalar& a, double b) { return number(a) < b; })
      .def("__le__", [](const Scalar& a, double b) { return number(a) <= b; })
      .def("__gt__", [](const Scalar& a, double b) { return number(a) > b; })
      .def("__ge__", [](const Scalar& a, double b) { return number(a) >= b; });
  nb::implicitly_convertible<double, Scalar>();
}

void add_array(nb::module_& module) {
  nb::class_<Lazy> array(module, "DeviceArray",
                         "float32 values over a space, on devices; only assign() and jobs change them.");
  array.def_prop_ro("space", [](const Lazy& a) { return a.space(); }).def("get", &get, "The values, as a NumPy array.");
  array.def(
      "assign",
      [](const LazyPointer& self, const LazyPointer& values) {
        recorded([&] {
          record_all(self->space());
          ex::write(self->array(), values->array());
        });
      },
      "Replaces the values, in the same memory: for jobs that go on from replay to replay (Context.record).");
  add_binary<Op::add>(array, "__add__", "__radd__");
  add_binary<Op::subtract>(array, "__sub__", "__rsub__");
  add_binary<Op::multiply>(array, "__mul__", "__rmul__");
  add_binary<Op::divide>(array, "__truediv__", "__rtruediv__");
  array.def("__gt__", &of_two<Op::greater>).def("__gt__", &with_number<Op::greater>);
  array.def("__lt__", [](const LazyPointer& a, const LazyPointer& b) { return of_two<Op::greater>(b, a); });
  array.def("__lt__", &number_with<Op::greater>);
  array.def("__neg__", &of_one<Op::negate>);
  array.def("__abs__", &of_one<Op::absolute>);
  array.def("max", largest_of, "The largest element, a Scalar; NaN if one of them is.");
  array.def("min", least_of, "The least element, a Scalar; NaN if one of them is.");
  array.attr("__array_ufunc__") = nb::none();  // or NumPy would make arrays of formulas
  module.def("zeros", [](const ex::Space& space) { return recorded([&] { return made(ex::zeros(space)); }); });
  module.def("uniform", [](const ex::Space& space, std::uint64_t seed) {
    LazyPointer result;
    computed([&] { result = made(ex::uniform(space, seed)); });
    return result;
  });
  module.def("load", &load_values, nb::sig("def load(space: Space, values: typing.Any) -> DeviceArray"));
}

// Records the formulas from before, so that they are computed before a job is replayed or its arrays change.
template <typename Work>
void with_recorded(const ex::Context& on, Work&& work) {
  recorded([&] {
    record_all(on.recorder());
    work();
  });
}

struct PreparedJob {
  ex::Context on;
  ex::Prepared job;
};

void add_prepared(nb::module_& module) {
  nb::class_<PreparedJob>(module, "PreparedJob")
      .def("replay", [](const PreparedJob& self) { with_recorded(self.on, [&] { self.job.replay(); }); })
      .def("write",
           [](const PreparedJob& self, const LazyPointer& array, const LazyPointer& values) {
             with_recorded(self.on, [&] { self.job.write(array->array(), values->array()); });
           })
      .def(
          "write",
          [](const PreparedJob& self, const LazyPointer& array, const Values& values) {
            const MemorySource source = source_of(array->space(), values);
            with_recorded(self.on, [&] { self.job.write(array->array(), source); });
          },
          nb::sig("def write(self, array: DeviceArray, values: typing.Any) -> None"))
      .def("value",
           [](const PreparedJob& self, const Scalar& number) {
             double result = 0;
             computed([&] { result = self.job.value(number); });
             return result;
           })
      .def_prop_ro("commands", [](const PreparedJob& self) { return self.job.commands(); });
}

void add_operators(nb::module_& module) {
  using ex::LinearOperator;
  nb::class_<LinearOperator>(module, "LinearOperator")
      .def("__call__",
           [](const LinearOperator& A, const LazyPointer& x) {
             return recorded([&] {
               record_all(x->space());
               return made(A(x->array()));
             });
           })
      .def("adjoint", &LinearOperator::adjoint)
      .def("times", [](const LinearOperator& A, const Scalar& s) { return recorded([&] { return s * A; }); })
      .def("plus", [](const LinearOperator& A, const LinearOperator& B) { return recorded([&] { return A + B; }); })
      .def("minus", [](const LinearOperator& A, const LinearOperator& B) { return recorded([&] { return A - B; }); })
      .def("after", [](const LinearOperator& A, const LinearOperator& B) { return recorded([&] { return A * B; }); })
      .def("move_to",
           [](const LinearOperator& A, const GeometryFile& geometry, const std::optional<GridTuple>& stack) {
             const ex::Space& own = A.range().kind() == ArrayKind::projections ? A.range() : A.domain();
             computed([&] {
               if (stack && own.kind() == ArrayKind::projections)
                 require_same_grid(grid_of(*stack), "the projections of the geometry", own.grid(),
                                   "those of the operator");
               record_all(A.domain());
               A.move_to(geometry.scan().geometry);
             });
           })
      .def("views", [](const LinearOperator& A,
                       const std::vector<int>& numbers) { return recorded([&] { return A.views(numbers); }); })
      .def("norm",
           [](const LinearOperator& A) {
             double norm = 0;
             computed([&] {
               record_all(A.domain());
               norm = A.norm();
             });
             return norm;
           })
      .def_prop_ro("domain", &LinearOperator::domain)
      .def_prop_ro("range", &LinearOperator::range);
}

// Computed, not only recorded: tiles of a stored matrix are listed, and matrix units are checked.
template <typename Choice>
ex::LinearOperator projector_on(const ex::Context& on, const GeometryFile& geometry, const GridTuple& volume,
                                const GridTuple& stack, const Choice& projector, const std::string& form) {
  std::optional<ex::LinearOperator> made;
  computed([&] {
    made = ex::projector(on, geometry.scan().geometry, grid_of(volume), grid_of(stack), projector(),
                         operator_form_from_name(form));
  });
  return *made;
}

void add_context(nb::module_& module) {
  using ex::Context;
  nb::class_<ex::Space>(module, "Space")
      .def_prop_ro("grid", [](const ex::Space& space) { return tuple_of(space.grid()); })
      .def(
          "__eq__", [](const ex::Space& a, const ex::Space& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", &ex::Space::text);
  nb::class_<Context>(module, "Context")
      .def("__init__",
           [](Context* self, const std::string& device, std::size_t device_memory) {
             recorded([&] { new (self) Context(devices_of(device, device_memory)); });
           })
      .def("volume",
           [](const Context& on, const GridTuple& grid) { return recorded([&] { return on.volume(grid_of(grid)); }); })
      .def("projections", [](const Context& on,
                             const GridTuple& grid) { return recorded([&] { return on.projections(grid_of(grid)); }); })
      .def("begin_job",
           [](const Context& on) {
             computed([&] {
               record_all(on.recorder());
               on.recorder().begin_job();
             });
           })
      .def("end_job",
           [](const Context& on) {
             std::optional<ex::Prepared> job;
             computed([&] {
               record_all(on.recorder());
               job = on.recorder().end_job();
             });
             return PreparedJob{on, *job};
           })
      .def("cancel_job", [](const Context& on) { recorded([&] { on.recorder().cancel_job(); }); })
      .def("wait", [](const Context& on) { computed([&] { on.wait(); }); })
      .def_prop_ro("passes", &Context::passes)
      .def_prop_ro("last_kernel", [](const Context& on) { return std::string(on.last_kernel()); })
      .def("projector",
           [](const Context& on, const GeometryFile& geometry, const GridTuple& volume, const GridTuple& stack,
              const std::string& projector, const std::string& form) {
             return projector_on(
                 on, geometry, volume, stack, [&] { return projector_choice(projector); }, form);
           })
      .def("projector", [](const Context& on, const GeometryFile& geometry, const GridTuple& volume,
                           const GridTuple& stack, const UserProjector& projector, const std::string& form) {
        return projector_on(
            on, geometry, volume, stack, [&] { return Projector(projector); }, form);
      });
}

}  // namespace

void add_arrays(nb::module_& module) {
  add_scalar(module);
  add_context(module);
  add_array(module);
  add_functions(module);
  add_operators(module);
  add_prepared(module);
}

}  // namespace halocline::python
