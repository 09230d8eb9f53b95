//! Data files as bytes.

// Several crates of tests use this, each a part of it.
#![allow(dead_code)]

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use ndarray_npy::WriteNpyExt;

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn npy(array: impl WriteNpyExt) -> Vec<u8> {
    let mut bytes = Vec::new();
    array.write_npy(&mut bytes).unwrap();
    bytes
}

/// A Parquet file of 60 rows with required columns of these types; every other row is 0, false or a text with quotes, and the rest 1 (floats
/// .25), true or `d`.
#[cfg(feature = "parquet")]
pub fn parquet(columns: &str) -> Vec<u8> {
    use parquet::basic::Compression;
    use parquet::column::writer::ColumnWriter;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    let columns: String =
        columns.split_terminator(';').map(|column| format!("REQUIRED {column};")).collect();
    let schema = parquet::schema::parser::parse_message_type(&format!("message m {{{columns}}}"));
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema.unwrap().into(), properties.into()).unwrap();
    let odd = || (0..60).map(|row| row % 2 == 1);
    let mut group = writer.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        match column.untyped() {
            ColumnWriter::BoolColumnWriter(to) => {
                to.write_batch(&odd().collect::<Vec<_>>(), None, None)
            }
            ColumnWriter::Int32ColumnWriter(to) => {
                to.write_batch(&odd().map(i32::from).collect::<Vec<_>>(), None, None)
            }
            ColumnWriter::Int64ColumnWriter(to) => {
                to.write_batch(&odd().map(i64::from).collect::<Vec<_>>(), None, None)
            }
            ColumnWriter::FloatColumnWriter(to) => {
                let values = odd().map(|odd| if odd { 0.25 } else { 0.0 });
                to.write_batch(&values.collect::<Vec<_>>(), None, None)
            }
            ColumnWriter::DoubleColumnWriter(to) => {
                let values = odd().map(|odd| if odd { 0.25 } else { 0.0 });
                to.write_batch(&values.collect::<Vec<_>>(), None, None)
            }
            ColumnWriter::ByteArrayColumnWriter(to) => {
                let values = odd().map(|odd| if odd { "d" } else { "a \"b\", c" }.into());
                to.write_batch(&values.collect::<Vec<_>>(), None, None)
            }
            _ => panic!("no values for a column of {columns}"),
        }
        .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}
