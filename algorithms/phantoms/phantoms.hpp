// Phantoms made of convex primitives: their voxels, and their exact line integrals.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

enum class Shape {
  ellipsoid,
  cylinder,  ///< elliptic, finite, along the local y axis
  box
};

/// A convex body whose value is ADDED to what is already there, so that line integrals add too (a hole has a negative
/// value).
struct Primitive {
  Shape shape = Shape::ellipsoid;
  std::array<double, 3> semi_axes{1, 1, 1};  ///< half the size along each local axis, mm
  std::array<double, 3> centre{0, 0, 0};     ///< world, mm
  std::array<double, 9> rotation{1, 0, 0, 0, 1,
                                 0, 0, 0, 1};  ///< row-major; its COLUMNS are the local axes in the world
  double value = 0;                            ///< 1/mm
};

enum class PhantomType { shepp_logan, shepp_logan_hc, blade, two_balls, gravel };

/// The names of the phantoms, in the order of PhantomType.
const std::vector<std::string>& phantom_names();

/// The phantom of that name; throws InputError that lists the names.
PhantomType phantom_type(const std::string& name);

/// The primitives of a phantom for a box of width_mm centred on the isocentre; its value 1 is `mu` (1/mm). seed: of
/// gravel's random numbers, 1 by default. Throws InputError if the width is not positive and finite, mu is not finite
/// or another phantom gets a seed.
std::vector<Primitive> phantom_primitives(PhantomType type, double width_mm, double mu,
                                          std::optional<std::uint64_t> seed = {});

/// The 3D Shepp-Logan head of Kak & Slaney (1988, p. 102) as RTK places it: ten ellipsoids, lengths in units of half
/// the width. Kak & Slaney's (x, y, z) are the world's (x, z, y): the head's long axis is along the rotation axis y,
/// and the slice y = const, seen with x to the right and z up, is their picture. (World and table have opposite
/// handedness; on the default grid, whose index axes are x, z, y, the array is theirs, not its mirror image.) Angles
/// turn about y, from +x towards +z. Densities: skull 2, brain 1.02, details of 0.01 and 0.02. With high_contrast those
/// of Yu, Ye & Wang (2004) for the same ellipsoids, in the spirit of Toft's (1996) for the 2D phantom: skull 1, brain
/// 0.2, details of 0.1 and 0.2.
std::vector<Primitive> shepp_logan(double width_mm, double mu, bool high_contrast);

/// A ball of value 1 and radius 0.45 w about the centre and in it one of value 1.5 and radius 0.2 w about (-0.15 w, 0,
/// 0). Voxelised without supersampling on n^3 voxels of w/n it is the test object for the convergence of the denoisers.
std::vector<Primitive> two_balls(double width_mm, double mu);

/// A turbine blade standing along y. Its upper part, the root, is thick and solid but for two cooling bores and a pore:
/// rays through it are attenuated strongly from every side, so it reconstructs noisily. Its lower part, the aerofoil,
/// is thin and quiet and holds a cooling channel with thin walls, upright bores and horizontal slots of 1.5, 2, 3 and 4
/// voxels of width_mm/128, and a row of pores at the leading edge.
std::vector<Primitive> blade(double width_mm, double mu);

/// A heap of some 1600 grains in air, a cylinder about y: ellipsoids of random sizes from 0.11 to 0.012 w, places
/// and directions that do not overlap, of the values 0.6, 0.8, 1 and 1.4. A quarter of them has a pore of air. The same
/// seed gives the same grains. Random sequential addition, large grains first (J. Feder, J. Theor. Biol. 87, 1980,
/// 237-254).
std::vector<Primitive> gravel(double width_mm, double mu, std::uint64_t seed = 1);

/// An axis-parallel box in the world, mm.
struct Region {
  std::array<double, 3> centre, half_size;
};

/// A hole and solid material beside it, to measure contrast between.
struct FineStructure {
  double size;        ///< diameter of the bore or width of the slot, mm
  Region hole, wall;  ///< entirely in the hole and in the solid (value 0 and 1)
};

/// Regions for measurements on the blade.
struct BladeRegions {
  Region noisy;  ///< homogeneous, in the root
  Region quiet;  ///< homogeneous, in the aerofoil
  std::vector<FineStructure> bores, slots;
};
BladeRegions blade_regions(double width_mm);

/// Attenuation in 1/mm at a world point in mm.
double attenuation(const std::vector<Primitive>& primitives, const std::array<double, 3>& point);

/// Integral of the attenuation along the infinite line through `point` (world, mm) with the unit vector `direction`; no
/// unit. Ellipsoids: Kak & Slaney (1988), section 3.1; cylinders and boxes: the common part of their slabs and ellipse.
double line_integral(const std::vector<Primitive>& primitives, const std::array<double, 3>& point,
                     const std::array<double, 3>& direction);

/// The primitives on a grid: each voxel is the mean over supersampling^3 evenly spread points of it (1: its centre
/// alone). Summed in double. Throws InputError for a bad grid or a supersampling outside 1 to 16, Interrupted after
/// Ctrl-C.
Volume voxelise(const std::vector<Primitive>& primitives, const Grid& grid, int supersampling = 3);
Volume voxelise(PhantomType type, const Grid& grid, double width_mm, double mu, int supersampling = 3);

/// Exact line integrals at the pixel centres of a stack (u, v, view), computed in double, on all cores of the host.
/// Throws InputError as check_projections does, Interrupted after Ctrl-C.
Volume project_analytic(const std::vector<Primitive>& primitives, const Geometry& geometry, const Grid& projections);

}  // namespace halocline
