// The base of the filters of this folder: devices, a run beside the pipeline's thread, errors.
#pragma once

#include <itkImageToImageFilter.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/opencl/device.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/volume/volume.hpp"
#include "scheduling/execution/progress.hpp"

/// Set, Unset and Get of a member std::optional<type> m_name: a setting that is chosen by itself where it is not given.
#define HaloclineOptionalMacro(name, type)               \
  virtual void Set##name(const type& value) {            \
    if (m_##name == value) return;                       \
    m_##name = value;                                    \
    this->Modified();                                    \
  }                                                      \
  virtual void Unset##name() {                           \
    if (!m_##name) return;                               \
    m_##name.reset();                                    \
    this->Modified();                                    \
  }                                                      \
  virtual const std::optional<type>& Get##name() const { \
    return m_##name;                                     \
  }

namespace itk {

/// The grid of a region. A slice is a volume of one slice.
template <unsigned int Dimension>
::halocline::Grid HaloclineGrid(const ImageBase<Dimension>& image, const ImageRegion<Dimension>& region) {
  Point<double, Dimension> first;
  image.TransformIndexToPhysicalPoint(region.GetIndex(), first);
  ::halocline::Grid grid;
  grid.size = {1, 1, 1};
  for (unsigned int row = 0; row < Dimension; ++row) {
    grid.size[row] = region.GetSize(row);
    grid.spacing[row] = image.GetSpacing()[row];
    grid.origin[row] = first[row];
    for (unsigned int axis = 0; axis < Dimension; ++axis)
      grid.direction[3 * row + axis] = image.GetDirection()(row, axis);
  }
  return grid;
}

/// A parameter as the library names it ("half_a"), as the setter of a filter ("SetHalfA").
inline std::string HaloclineSetter(std::string_view parameter) {
  std::string name = "Set";
  bool begins = true;
  for (const char letter : parameter) {
    const bool small = letter >= 'a' && letter <= 'z';
    if (letter != '_') name += begins && small ? static_cast<char>(letter - 'a' + 'A') : letter;
    begins = letter == '_';
  }
  return name;
}

/// The library's text with setters in place of the parameters that stand in backticks and are among `parameters`:
/// `alpha` becomes SetAlpha, `method = spdu` becomes SetMethod("spdu"). Others stay.
inline std::string HaloclineInSetters(const std::string& text, const std::vector<std::string_view>& parameters) {
  const auto known = [&](std::string_view name) {
    return std::find(parameters.begin(), parameters.end(), name) != parameters.end();
  };
  const auto setters = [&](std::string_view quoted) -> std::optional<std::string> {
    const auto equals = quoted.find(" = ");
    if (equals != quoted.npos) {
      const std::string value(quoted.substr(equals + 3));
      if (!known(quoted.substr(0, equals))) return std::nullopt;
      const bool word = value != "true" && value != "false" && value.find_first_not_of("+-.e0123456789") != value.npos;
      return HaloclineSetter(quoted.substr(0, equals)) + (word ? "(\"" + value + "\")" : "(" + value + ")");
    }
    std::string result;
    for (auto rest = quoted; !rest.empty();) {
      const auto comma = std::min(rest.find(", "), rest.size());
      if (!known(rest.substr(0, comma))) return std::nullopt;
      result += (result.empty() ? "" : ", ") + HaloclineSetter(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 2, rest.size()));
    }
    return result;
  };
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto open = std::min(text.find('`', at), text.size()), close = text.find('`', open + 1);
    if (close == text.npos) return result + text.substr(at);
    const auto quoted = std::string_view(text).substr(open + 1, close - open - 1);
    result += text.substr(at, open - at) + setters(quoted).value_or("`" + std::string(quoted) + "`");
    at = close + 1;
  }
  return result;
}

/// Runs the library on the devices of SetDevice(). The run has a thread of its own; that of Update() sends
/// ProgressEvent meanwhile and looks at AbortGenerateData. Images are float, of two or three dimensions, and taken
/// whole.
template <typename TInputImage, typename TOutputImage>
class HaloclineImageFilter : public ImageToImageFilter<TInputImage, TOutputImage> {
 public:
  ITK_DISALLOW_COPY_AND_MOVE(HaloclineImageFilter);
  using Self = HaloclineImageFilter;
  using Superclass = ImageToImageFilter<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;
  const char* GetNameOfClass() const override { return "HaloclineImageFilter"; }

  static constexpr unsigned int Dimension = TInputImage::ImageDimension;
  static_assert(std::is_same_v<typename TInputImage::PixelType, float> &&
                    std::is_same_v<typename TOutputImage::PixelType, float>,
                "Halocline's filters take and give images of float: convert others with itk::CastImageFilter");
  static_assert((Dimension == 2 || Dimension == 3) && TOutputImage::ImageDimension == Dimension,
                "Halocline's filters take images of two or three dimensions, and give as many");

  /// A number, "cpu", "gpu", "all", a part of a name, or several of these with commas; "": HALOCLINE_DEVICE, or else
  /// the first GPU, or else the first device.
  itkSetStringMacro(Device);
  itkGetStringMacro(Device);
  /// Bytes of each device that a run may use; 0: what the device has, less a reserve.
  itkSetMacro(DeviceMemory, SizeValueType);
  itkGetConstMacro(DeviceMemory, SizeValueType);

 protected:
  HaloclineImageFilter() = default;
  ~HaloclineImageFilter() override = default;

  /// The settings of the derived filter, by the names of the library's parameters.
  virtual std::vector<std::string_view> Parameters() const = 0;

  void GenerateInputRequestedRegion() override { ProcessObject::GenerateInputRequestedRegion(); }  // all of them whole
  void EnlargeOutputRequestedRegion(DataObject* output) override {
    output->SetRequestedRegionToLargestPossibleRegion();
  }

  void PrintSelf(std::ostream& os, Indent indent) const override {
    Superclass::PrintSelf(os, indent);
    os << indent << "Device: " << m_Device << '\n' << indent << "DeviceMemory: " << m_DeviceMemory << '\n';
  }

  /// Does `work` and throws its errors as ITK's.
  template <class Work>
  void Guard(Work&& work) const {
    try {
      work();
    } catch (const ExceptionObject&) {
      throw;
    } catch (const ::halocline::Interrupted&) {
      ProcessAborted aborted(__FILE__, __LINE__);
      aborted.SetLocation(this->GetNameOfClass());
      throw aborted;
    } catch (const std::exception& error) {
      auto parameters = this->Parameters();
      parameters.insert(parameters.end(), {"device", "device_memory"});
      throw ExceptionObject(__FILE__, __LINE__, HaloclineInSetters(error.what(), parameters), this->GetNameOfClass());
    }
  }

  /// Does work(devices, progress) in a thread of its own. Of its progress, `done` of `total` counts.
  template <class Work>
  void Run(Work&& work) {
    ::halocline::Cancellation cancellation;
    std::exception_ptr failure;
    std::mutex mutex;
    std::condition_variable changed;
    double reached = 0;
    bool news = false, ended = false;
    const ::halocline::Progress progress = [&](const ::halocline::ProgressState& state) {
      const std::lock_guard lock(mutex);
      if (state.total > 0) reached = std::clamp(state.done / state.total, reached, 1.0);
      news = true;
      changed.notify_one();
    };
    {
      struct Worker {
        std::thread thread;
        ::halocline::Cancellation& cancellation;
        ~Worker() {  // where an observer throws, too
          cancellation.request();
          thread.join();
        }
      } const worker{std::thread([&] {
                       const ::halocline::CancellationScope scope(&cancellation);
                       try {
                         work(this->OpenedDevices(), progress);
                       } catch (...) {
                         failure = std::current_exception();
                       }
                       const std::lock_guard lock(mutex);
                       ended = true;
                       changed.notify_one();
                     }),
                     cancellation};
      std::unique_lock lock(mutex);
      while (!ended) {
        changed.wait_for(lock, std::chrono::milliseconds(20), [&] { return news || ended; });
        const bool has_news = std::exchange(news, false);
        const auto done = static_cast<float>(reached);
        lock.unlock();
        if (has_news) this->UpdateProgress(done);
        if (this->GetAbortGenerateData() || ::halocline::interrupt_requested()) cancellation.request();
        lock.lock();
      }
    }
    if (!failure) this->UpdateProgress(1);
    this->Guard([&] {
      if (failure) std::rethrow_exception(failure);
      if (this->GetAbortGenerateData()) ::halocline::throw_interrupted();  // too late for the run to see it
    });
  }

  /// All voxels of an input, which lie as they are.
  static const float* VoxelsOf(const TInputImage& image) {
    if (image.GetBufferedRegion() != image.GetLargestPossibleRegion())
      itkGenericExceptionMacro(<< "an input holds " << image.GetBufferedRegion().GetSize() << " of "
                               << image.GetLargestPossibleRegion().GetSize()
                               << " voxels; expected all of them: let its source give the largest possible region");
    return image.GetBufferPointer();
  }

 private:
  // Opening takes a moment, and programs that are built stay with the devices.
  const std::vector<::halocline::Device>& OpenedDevices() {
    const auto wanted = std::pair(m_Device, m_DeviceMemory);
    const bool good = std::none_of(m_Devices.begin(), m_Devices.end(), [](const auto& d) { return d.excluded(); });
    if (m_Devices.empty() || m_Opened != wanted || !good) {
      m_Devices.clear();
      m_Devices = ::halocline::open_devices({.device = m_Device, .device_memory = m_DeviceMemory});
      m_Opened = wanted;
    }
    return m_Devices;
  }

  std::string m_Device;
  SizeValueType m_DeviceMemory = 0;
  std::vector<::halocline::Device> m_Devices;
  std::pair<std::string, SizeValueType> m_Opened;
};

}  // namespace itk
