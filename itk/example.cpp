// Denoises an image of ITK: a box of 1 in 0, with noise of 0.2 on it.
#include <halocline/itk/itkHaloclineTotalVariationImageFilter.h>
#include <itkCommand.h>
#include <itkImage.h>
#include <itkImageRegionIteratorWithIndex.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>

namespace {

using Image = itk::Image<float, 3>;

bool in_box(const Image::IndexType& index) {
  return index[0] >= 8 && index[0] < 24 && index[1] >= 8 && index[1] < 24 && index[2] >= 8 && index[2] < 24;
}

Image::Pointer noisy_box() {
  auto image = Image::New();
  Image::SizeType size;
  size.Fill(32);
  image->SetRegions(size);
  image->Allocate();
  std::mt19937 random(1);
  std::normal_distribution<float> noise(0, 0.2F);
  for (itk::ImageRegionIteratorWithIndex<Image> at(image, image->GetBufferedRegion()); !at.IsAtEnd(); ++at)
    at.Set((in_box(at.GetIndex()) ? 1.0F : 0.0F) + noise(random));
  return image;
}

double error_of(Image& image) {
  double sum = 0;
  for (itk::ImageRegionIteratorWithIndex<Image> at(&image, image.GetBufferedRegion()); !at.IsAtEnd(); ++at)
    sum += std::pow(at.Get() - (in_box(at.GetIndex()) ? 1.0 : 0.0), 2);
  return std::sqrt(sum / static_cast<double>(image.GetBufferedRegion().GetNumberOfPixels()));
}

}  // namespace

int main() {
  const auto image = noisy_box();
  try {
    auto filter = itk::HaloclineTotalVariationImageFilter<Image>::New();
    filter->SetInput(image);
    filter->SetMethod("pdu");
    filter->SetAlpha(4);  // left out, it is chosen by the noise
    filter->SetGap(1e-4);
    filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject&) {
      std::cout << static_cast<int>(100 * filter->GetProgress()) << " %\n";
    });
    filter->Update();
    const double before = error_of(*image), after = error_of(*filter->GetOutput());
    std::cout << "error " << before << " -> " << after << " after " << filter->GetIterationsUsed()
              << " iterations, relative gap " << filter->GetRelativeGap() << '\n';
    return after < 0.5 * before ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const itk::ExceptionObject& error) {
    std::cerr << error.GetDescription() << '\n';
    return EXIT_FAILURE;
  }
}
