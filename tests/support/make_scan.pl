#!/usr/bin/env perl
# Makes a small cone-beam scan as a scanner leaves it, for the examples of docs/: scan/scan_0001.tif ... (16-bit counts of a
# ball with a smaller, denser one in it), flats/flat_01.tif ..., darks/dark_01.tif ..., and Nikon's scan.xtekct.
use strict;
use warnings;

my ($columns, $rows, $views, $pitch, $sid, $sdd) = (64, 48, 120, 0.8, 100, 200);
my @balls = ([4, 1, -2, 7, 0.05], [6, 2, -1, 2, 0.05]);    # centre, radius, mm; attenuation, 1/mm, added
my $photons = 20000;
my $state = 1;

sub uniform {    # the same numbers everywhere (Park & Miller 1988)
  $state = $state * 16807 % 2147483647;
  return $state / 2147483647;
}

sub gaussian { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()) }

# 16-bit grey values without compression.
sub write_tiff {
  my ($name, $values) = @_;
  my @tags = ([256, 4, $columns], [257, 4, $rows], [258, 3, 16], [259, 3, 1], [262, 3, 1], [273, 4, 8], [277, 3, 1],
    [278, 4, $rows], [279, 4, 2 * $columns * $rows]);
  open(my $file, '>:raw', $name) or die "$name: $!";
  print $file pack('A2 v V', 'II', 42, 8 + 2 * @$values), pack('v*', @$values), pack('v', scalar @tags);
  print $file map({ pack('v v V V', $_->[0], $_->[1], 1, $_->[2]) } @tags), pack('V', 0);
  close($file) or die "$name: $!";
}

# A pixel's own gain, dark current and noise.
sub counts {
  my ($share, $pixel) = @_;
  my $signal = $photons * (0.9 + 0.2 * (($pixel * 7919) % 101) / 101) * $share;
  my $count = int(100 + $signal + sqrt($signal + 4) * gaussian() + 0.5);
  return $count < 0 ? 0 : $count > 65535 ? 65535 : $count;
}

# The line integral from the source through a pixel, at a gantry angle.
sub line_integral {
  my ($angle, $column, $row) = @_;
  my ($s, $c) = (sin($angle), cos($angle));
  my ($u, $v) = (($column - ($columns - 1) / 2) * $pitch, ($row - ($rows - 1) / 2) * $pitch);
  my @from = ($sid * $s, 0, $sid * $c);
  my @way = ($u * $c - $sdd * $s, $v, -$u * $s - $sdd * $c);
  my $length = sqrt($way[0]**2 + $way[1]**2 + $way[2]**2);
  my $sum = 0;
  for my $ball (@balls) {
    my ($along, $square) = (0, 0);
    for my $axis (0 .. 2) {
      my $to = $ball->[$axis] - $from[$axis];
      $along += $to * $way[$axis] / $length;
      $square += $to * $to;
    }
    my $half = $ball->[3]**2 - ($square - $along**2);
    $sum += 2 * sqrt($half) * $ball->[4] if $half > 0;
  }
  return $sum;
}

mkdir $_ for qw(scan flats darks);
for my $view (0 .. $views - 1) {
  my $angle = 6.283185307179586 * $view / $views;
  write_tiff(sprintf('scan/scan_%04d.tif', $view + 1),
    [map { counts(exp(-line_integral($angle, $_ % $columns, int($_ / $columns))), $_) } 0 .. $columns * $rows - 1]);
}
for my $n (1 .. 4) {
  write_tiff(sprintf('flats/flat_%02d.tif', $n), [map { counts(1, $_) } 0 .. $columns * $rows - 1]);
  write_tiff(sprintf('darks/dark_%02d.tif', $n), [map { counts(0, $_) } 0 .. $columns * $rows - 1]);
}
open(my $file, '>', 'scan.xtekct') or die "scan.xtekct: $!";
my $step = 360 / $views;
print $file <<"PARAMETERS";
[XTekCT]
Name=scan
SrcToObject=$sid
SrcToDetector=$sdd
DetectorPixelsX=$columns
DetectorPixelsY=$rows
DetectorPixelSizeX=$pitch
DetectorPixelSizeY=$pitch
ObjectOffsetX=0
ObjectTilt=0
ObjectRoll=0
VoxelsX=48
VoxelsY=48
VoxelsZ=40
VoxelSizeX=0.5
VoxelSizeY=0.5
VoxelSizeZ=0.5
Projections=$views
InitialAngle=0
AngularStep=-$step
PARAMETERS
close($file) or die "scan.xtekct: $!";
