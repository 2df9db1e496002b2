package org.deidentifier.arx;

import java.io.Serializable;
import java.text.DecimalFormat;
import java.text.SimpleDateFormat;
import java.util.Locale;
import java.util.Map;

/** The serial form of ARX's data types: names, versions and fields, without what they do. */
public abstract class DataType implements Serializable {
    private static final long serialVersionUID = -4380267779210935078L;

    public static class ARXInteger extends DataType {
        private static final long serialVersionUID = -631163546929231044L;
        DecimalFormat format;
        String string;
        Locale locale;
    }

    public static class ARXDecimal extends DataType {
        private static final long serialVersionUID = 7293446977526103610L;
        public DecimalFormat format;
        public String string;
        public Locale locale;
    }

    public static class ARXString extends DataType {
        private static final long serialVersionUID = 903334212175979691L;
    }

    public static class ARXOrderedString extends DataType {
        private static final long serialVersionUID = -830897705078418835L;
        public Map<String, Integer> order;
    }

    public static class ARXDate extends DataType {
        private static final long serialVersionUID = -1658470914184442833L;
        public SimpleDateFormat format;
        public String string;
        Locale locale;
    }
}
